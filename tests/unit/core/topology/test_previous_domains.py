"""Domain record of a job at the end of a cycle."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cluster.objects.pod_groups.previous_domains import placement_record_of
from stromboli.core.topology.previous_domains import current_domains
from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import gang, gang_of, pod, running
from tests.testing.manifests.hypernodes import HARD_BLOCK, HARD_RACK, SOFT, TREE, network
from tests.testing.manifests.topology_levels import RACK, WORLD, asking

AWARE = configuration("gang", "predicates", "network-topology-aware")
KEY = "default/gang"
TWO = network(2, "ab", "cd")
PARTS = [{"name": "p", "subGroupSize": 2, "matchLabelKeys": ["part"], "networkTopology": HARD_RACK}]


def was(domain: str = "", **parts: str) -> dict[str, str]:
    homes = {KEY: domain, **{f"{KEY}/p-{part}": home for part, home in parts.items()}}
    return {key: value for key, value in placement_record_of(homes, KEY).items() if value}


def running_on(places: str, waiting: int = 0, **facts: Any) -> list[Any]:
    here = [pod(2, nodeName=place) for place in places]
    return gang_of(*here, *(pod(2) for _ in range(waiting)), minimum=1, phase="Running", **facts)


def parted(values: str, **facts: Any) -> list[Any]:
    return gang_of(*(pod(2, labels={"part": part}) for part in values), policies=PARTS, **facts)


#: The cluster, and the domains of the job and of its sub-jobs.
CASES: dict[str, tuple[list[Any], dict[str, str]]] = {
    "it has found a rack": ([TWO, gang(2, 2, topology=HARD_RACK)], {"": "rack-0"}),
    "it has found nothing": ([TWO, gang(3, 2, topology=HARD_RACK)], {}),
    "nothing, but it was somewhere": (
        [TWO, running("ac", 2), gang(2, 2, topology=HARD_RACK, notes=was("rack-1"))],
        {"": "rack-1"},
    ),
    "a block": ([TREE, gang(3, 2, topology=SOFT)], {"": "block-0"}),
    "the cluster is no home": ([TWO, gang(3, 2, topology=SOFT)], {}),
    "no constraint": ([TWO, gang(2, 2)], {}),
    "constraint removed": ([TWO, gang(2, 2, notes=was("rack-1"))], {}),
    "what remains is in a smaller domain": (
        [TREE, running_on("a", 0, topology=SOFT, notes=was("block-0"))],
        {"": "block-0"},
    ),
    "it needs more capacity than before": (
        [TREE, running("b", 2), running_on("a", 1, topology=SOFT, notes=was("rack-0"))],
        {"": "block-0"},
    ),
    "it has moved": ([TWO, running("c", 2), gang(2, 2, topology=HARD_RACK, notes=was("rack-1"))], {"": "rack-0"}),
    "its domain is gone": ([TWO, running("ac", 2), gang(2, 2, topology=HARD_RACK, notes=was("rack-9"))], {}),
    "its domain is gone, its pods are there": (
        [TWO, running_on("c", topology=SOFT, notes=was("rack-9"))],
        {"": "rack-1"},
    ),
    "its tier is not allowed any more": (
        [TREE, running("aceg", 2), gang(2, 2, topology=HARD_RACK, notes=was("block-0"))],
        {},
    ),
    "parts": ([TWO, parted("xxyy")], {"/p-x": "rack-0", "/p-y": "rack-1"}),
    "parts and the whole": (
        [TREE, parted("xxyy", topology=HARD_BLOCK)],
        {"": "block-0", "/p-x": "rack-0", "/p-y": "rack-1"},
    ),
    "a part that has no pods now": ([TWO, parted("xx", notes=was(y="rack-1"))], {"/p-x": "rack-0", "/p-y": "rack-1"}),
    "a part that has no pods, and no rack any more": ([TWO, parted("xx", notes=was(y="rack-9"))], {"/p-x": "rack-0"}),
    "there are no parts any more": ([TWO, gang(2, 2, topology=HARD_RACK, notes=was(y="rack-1"))], {"": "rack-0"}),
    "a network by labels": ([WORLD, gang(2, 2, notes=asking(RACK))], {"": "b0/r0"}),
}


@pytest.mark.parametrize(("world", "homes"), CASES.values(), ids=CASES)
def test_recorded_domains_of_a_job(world: list[Any], homes: dict[str, str]) -> None:
    session = Case("", *world, binds="", conf=AWARE).plan().session
    assert current_domains(session, session.jobs[KEY]) == {f"{KEY}{part}": home for part, home in homes.items()}


def test_record_is_unchanged_without_a_domain_plugin() -> None:
    world = [TWO, gang(2, 2, topology=HARD_RACK, notes=was("rack-9"))]
    session = Case("", *world, binds="", conf=configuration("gang", "predicates")).plan().session
    assert current_domains(session, session.jobs[KEY]) == {KEY: "rack-9"}
