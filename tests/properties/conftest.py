"""Report the profile of the properties before they are collected."""

from tests.testing.random_clusters.effort import EFFORT, IS_SEARCH


def pytest_report_header() -> str:
    examples = "new examples" if IS_SEARCH else "the same examples in every run"
    return f"properties: effort {EFFORT:g} (PROPERTY_EFFORT), {examples}"
