"""Dependencies between the tasks of a Job and between the Jobs of a flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter


def cycle_in(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names on a cycle, beginning and ending with the same one; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
