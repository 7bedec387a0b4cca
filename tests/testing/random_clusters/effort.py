"""Number of examples of the properties.

By default every run uses the same few examples, so that a failure is caused by the change. To search for more,
`PROPERTY_EFFORT=50 pytest tests/properties` uses fifty times as many, and new ones in every run.
"""

import os

from hypothesis import HealthCheck, settings

EFFORT = int(os.environ.get("PROPERTY_EFFORT", "0"))

settings.register_profile(
    "properties",
    deadline=None,
    derandomize=not EFFORT,
    database=None,
    print_blob=bool(EFFORT),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def examples(number: int) -> settings:
    """Return settings for a property with so many examples at an effort of 1, fewer in an ordinary run."""
    tried = number * EFFORT if EFFORT else max(min(number, 10), number * 6 // 10)
    return settings(settings.get_profile("properties"), max_examples=tried)
