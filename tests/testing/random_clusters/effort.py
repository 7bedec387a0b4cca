"""Number of examples of the properties.

Up to an effort of 1 every run uses the same examples, so that a failure is caused by the change: 0.6 is the default,
and `make test-fast` sets less. To search for more, `PROPERTY_EFFORT=50 pytest tests/properties` uses fifty times as
many, and new ones in every run.
"""

import os

from hypothesis import HealthCheck, settings

EFFORT = float(os.environ.get("PROPERTY_EFFORT", "0.6"))
IS_SEARCH = EFFORT > 1

settings.register_profile(
    "properties",
    deadline=None,
    derandomize=not IS_SEARCH,
    database=None,
    print_blob=IS_SEARCH,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def examples(number: int) -> settings:
    """Return settings for a property with so many examples at an effort of 1, and at least 10 of them."""
    tried = max(min(number, 10), int(number * EFFORT))
    return settings(settings.get_profile("properties"), max_examples=tried)
