"""Report the profile of the properties before they are collected."""

from tests.testing.random_clusters.effort import EFFORT


def pytest_report_header() -> str:
    return f"properties: effort {EFFORT} (PROPERTY_EFFORT)" if EFFORT else "properties: the same examples in every run"
