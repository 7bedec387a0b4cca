"""Every metric has its line in the documentation, with its type and labels, and no other has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stromboli.observability.metrics.scheduler import SchedulerMetrics
from tests.testing.exposition import exposed_types

TEXT = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


def exported() -> dict[str, str]:
    """Type by name, as a Prometheus server sees them."""
    types = exposed_types(SchedulerMetrics().render()[0].decode())
    return {
        name: kind
        for name, kind in types.items()
        if name.startswith(("volcano_", "stromboli_")) and not name.endswith("_created")
    }


def test_page_lists_exactly_the_exported_metrics() -> None:
    listed = set(re.findall(r"`((?:volcano|stromboli)_\w+)`", TEXT)) - {"volcano_", "stromboli_"}
    assert listed == set(exported())


@pytest.mark.parametrize(("name", "kind"), exported().items())
def test_page_has_the_type_of_the_metric(name: str, kind: str) -> None:
    line = next(line for line in TEXT.splitlines() if line.startswith("|") and f"`{name}`" in line)
    assert name.startswith("volcano_queue_") or f"| {kind} |" in line
