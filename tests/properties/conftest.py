"""The profile of the properties is known before the first of them is read."""

from tests.testing.random_clusters.effort import EFFORT


def pytest_report_header() -> str:
    return f"properties: effort {EFFORT} (PROPERTY_EFFORT)" if EFFORT else "properties: the same examples in every run"
