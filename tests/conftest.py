"""One rule for all property tests: the same examples in every run, and no stopwatch.

A failure is then always the change's own, on a slow machine as on a fast one. `PROPERTY_EFFORT=50 pytest
tests/properties` looks for more, with new examples in every run.
"""

import os

from hypothesis import settings

settings.register_profile("stromboli", deadline=None, derandomize="PROPERTY_EFFORT" not in os.environ, database=None)
settings.load_profile("stromboli")
