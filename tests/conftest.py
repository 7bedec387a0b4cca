"""Configuration of all tests.

Property tests have the same examples in every run, and no deadline, so that a failure is caused by a change and not by
the machine. `PROPERTY_EFFORT=50 pytest tests/properties` runs more, with new examples in every run.

Tests that need an API server run against the embedded one, or with `STROMBOLI_API_SERVER=real` against a real one.
Tests for only one of them are marked, with the reason: `@pytest.mark.only("real", because="...")`.

In the pipeline (`CI`) a failed test of processes runs once more; the last line counts those.
"""

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from testbed.plane import ControlPlane
from tests.testing.planes import SERVER, fresh_plane
from tests.testing.random_clusters.effort import examples

settings.register_profile("stromboli", parent=examples(100))
settings.load_profile("stromboli")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="treat a skipped test as failed")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["KUBECONFIG"] = os.devnull  # commands connect to the cluster of a test only
    config.addinivalue_line("markers", "only(server, because): a test for this API server only, real or embedded")
    config.addinivalue_line("markers", "last: a test about all the others, which runs after them")
    if SERVER not in ("embedded", "real"):
        raise pytest.UsageError(f"STROMBOLI_API_SERVER is {SERVER!r}; it can be 'embedded' or 'real'")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of the other API server, and move the last ones to the end."""
    markers = [(item, item.get_closest_marker("only")) for item in items]
    foreign = [item for item, marker in markers if marker is not None and marker.args[0] != SERVER]
    if foreign:
        config.hook.pytest_deselected(items=foreign)
        items[:] = [item for item in items if item not in set(foreign)]
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)
    if os.environ.get("CI"):
        _allow_a_second_run(items)


def _allow_a_second_run(items: list[pytest.Item]) -> None:
    """Repeat a failed test of processes once: it has deadlines, which a busy machine misses. Reported as `rerun`."""
    for item in items:
        if {"e2e", "integration"} & set(item.path.parts):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Exempt modules, tests and tables, which exist until the end, from garbage collection."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.config.getoption("--no-skips"):
        report.outcome, report.longrepr = "failed", f"skipped, which is not allowed here: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """The server that all tests share: each cleans up after itself and uses its own namespace."""
    with fresh_plane() as started:
        yield started
