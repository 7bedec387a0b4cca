"""Over-committed nodes: the last of this scheduler's pods are evicted, never those of others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import budget, foreign, node, running

OLD, NEW = "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"


def relieves(
    name: str,
    *world: Any,
    evicts: str = "",
    by: tuple[str, ...] = ("gang", "predicates"),
    grace: str = "0s",
    **more: Any,
) -> Case:
    conf = configuration(*by, actions="enqueue, relieve, allocate", arguments={"relieve": {"gracePeriod": grace}})
    return Case(name, node("a", 4), node("b", 4), *world, conf=conf, binds="", evicts=evicts.split(), **more)


CANNOT = "relieve: node a is over-committed (cpu), and no pods that may be evicted suffice to relieve it"

CASES = [
    relieves("a full node is left alone", running("aa"), foreign("a", 2)),
    relieves(
        "the youngest of ours is evicted, and no other",
        running("aa", name="anew", placed=OLD), running("a", name="last", placed=NEW), foreign("a", 2),
        evicts="last-task-0",
    ),
    relieves(
        "as many as needed",
        running("aa", name="anew", placed=OLD), running("aa", name="last", placed=NEW), foreign("a", 2),
        evicts="last-task-0 last-task-1",
    ),
    relieves("a new case waits: the kubelet may reject the other pod", running("a"), foreign("a", 4), grace="1s"),
    relieves("pods elsewhere stay", running("bbbb"), running("a", name="new"), foreign("a", 4), evicts="new-task-0"),
    relieves("pods of others are never evicted", foreign("a", 3), foreign("a", 3, name="next"), warnings=[CANNOT]),
    relieves(
        "nothing is evicted in vain", running("a"), foreign("a", 3), foreign("a", 3, name="next"), warnings=[CANNOT]
    ),
    relieves(
        "a disruption budget protects its pods",
        running("aaa", labels={"app": "old"}), foreign("a", 2), budget("keep", 0, {"app": "old"}),
        by=("gang", "predicates", "pdb"), warnings=[CANNOT],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_overcommitted_nodes_are_relieved(case: Case) -> None:
    case.check()
