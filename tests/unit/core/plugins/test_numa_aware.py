"""Sets of processors, and who gets which of them, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cluster.objects.pods.cpu_pinning import requested_cpus
from stromboli.core.model.nodes.cpu_assignment import (
    CpuAllocation,
    assign_cpus,
    count_numa_nodes,
    fewest_numa_nodes,
    numa_nodes_for,
    take,
)
from stromboli.core.model.nodes.numa import Processor, Processors, format_cpus, numbers_of, parse_cpus
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, pod


def processors(sizes: str = "4 4", policy: str = "best-effort", threads: int = 2, per_socket: int = 1) -> Processors:
    """Cells of these sizes, so many of them in a socket, with so many threads in a core."""
    numa_nodes = [numa_node for numa_node, size in enumerate(sizes.split()) for _ in range(int(size))]
    places = [Processor(n, numa_node, numa_node // per_socket, n // threads) for n, numa_node in enumerate(numa_nodes)]
    return Processors("static", policy, tuple(places))


# -- sets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers", "written"),
    [
        ("", [], ""),
        ("0", [0], "0"),
        ("0-3,8", [0, 1, 2, 3, 8], "0-3,8"),
        ("8,0-1,1-3", [0, 1, 2, 3, 8], "0-3,8"),
        (" 5 , 7 ", [5, 7], "5,7"),
        ("4095", [4095], "4095"),
    ],
)
def test_cpu_set_round_trip(text: str, numbers: list[int], written: str) -> None:
    cpus = parse_cpus(text)
    assert list(numbers_of(cpus)) == numbers
    assert format_cpus(cpus) == written


@pytest.mark.parametrize("text", ["x", "1-", "-1", "3-1", "0,,1", "4096", "0-99999999999", "1 2", "²", "0x1"])
def test_invalid_cpu_set_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a processor or a range; write a list such as 0-3,8"):
        parse_cpus(text)


# -- cells --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "free", "number", "expected"),
    [
        ("4 4", "0-7", 4, [0]),
        ("4 4", "1-7", 4, [1]),
        ("4 4", "0-7", 5, [0, 1]),
        ("4 4", "0-1,4-5", 4, [0, 1]),
        ("4 4", "0-1,4-5", 5, []),
        ("4 4 4 4", "0-15", 8, [0, 1]),
        ("4 4 4 4", "1-3,4-7,9-11,12-15", 8, [1, 3]),
        ("4 4 4 4", "0-1,4-7,8-9,12-13", 6, [0, 1]),
        ("2 6", "0-7", 6, [1]),
        ("2 6", "0-7", 2, [0]),
    ],
)
def test_fewest_numa_nodes_with_the_lowest_numbers(sizes: str, free: str, number: int, expected: list[int]) -> None:
    assert numa_nodes_for(processors(sizes), parse_cpus(free), number) == expected


@pytest.mark.parametrize(("number", "numa_nodes"), [(1, 1), (4, 1), (5, 2), (6, 2), (8, 3), (9, 0)])
def test_minimum_number_of_numa_nodes(number: int, numa_nodes: int) -> None:
    assert fewest_numa_nodes(processors("4 2 2"), number) == numa_nodes


# -- processors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "number", "expected"),
    [
        ("0-7", 4, "0-3"),
        ("0-7", 8, "0-7"),
        ("1-7", 4, "4-7"),
        ("0-7", 2, "0-1"),
        ("1-7", 2, "2-3"),
        ("0-7", 3, "0-2"),
        ("1-7", 1, "1"),
        ("2-7", 1, "2"),
        ("0-7", 5, "0-4"),
        ("1,3,5,7", 3, "1,3,5"),
        ("0,2-7", 3, "0,2-3"),
        ("0-7", 0, ""),
    ],
)
def test_cpus_are_taken_by_socket_then_core_then_thread(free: str, number: int, expected: str) -> None:
    assert format_cpus(take(processors(), parse_cpus(free), number)) == expected


@pytest.mark.parametrize(
    ("policy", "free", "demand", "expected"),
    [
        ("single-numa-node", "0-7", {"a": 4, "b": 4}, "a=0-3 b=4-7"),
        ("single-numa-node", "0-7", {"a": 3, "b": 2}, "a=0-2 b=4-5"),
        ("single-numa-node", "0-7", {"a": 5}, "not a"),
        ("single-numa-node", "0-6", {"a": 4, "b": 4}, "not b"),
        ("restricted", "0-7", {"a": 5}, "a=0-4"),
        ("restricted", "0-1,4-5", {"a": 3}, "not a"),
        ("restricted", "0-7", {"a": 9}, "not a"),
        ("best-effort", "0-1,4-5", {"a": 3}, "a=0-1,4"),
        ("best-effort", "0-1", {"a": 3, "b": 2}, "a= b=0-1"),
    ],
)
def test_cpus_of_containers(policy: str, free: str, demand: dict[str, int], expected: str) -> None:
    node, wanted = processors(policy=policy), tuple(demand.items())
    given = assign_cpus(node, parse_cpus(free), wanted)
    numa_nodes = count_numa_nodes(node, parse_cpus(free), wanted)
    if isinstance(given, CpuAllocation):
        assert " ".join(f"{name}={format_cpus(cpus)}" for name, cpus in given.containers) == expected
        whole = all(cpus for _, cpus in given.containers)
        assert numa_nodes == (len(node.numa_nodes_of(given.cpus)) if whole else len(node.numa_nodes) + 1)
    else:
        assert f"not {given}" == expected
        assert numa_nodes == 0


# -- pods ---------------------------------------------------------------------------------------------------------


def container(
    name: str, limits: dict[str, str] | None, requests: dict[str, str] | None = None, **more: Any
) -> Manifest:
    given = {key: value for key, value in (("limits", limits), ("requests", requests)) if value is not None}
    return {"name": name, "resources": given, **more}


WHOLE, PART = {"cpu": "2", "memory": "1Gi"}, {"cpu": "1500m", "memory": "1Gi"}

PODS = [
    ("limits are requests", [container("main", WHOLE)], {}, "main=2"),
    ("both are the same", [container("main", WHOLE, {"cpu": "2000m", "memory": "1024Mi"})], {}, "main=2"),
    ("requests are smaller", [container("main", WHOLE, {"cpu": "1", "memory": "1Gi"})], {}, None),
    ("no limits", [container("main", None, WHOLE)], {}, None),
    ("no limit of memory", [container("main", {"cpu": "2"})], {}, None),
    ("a limit of nothing", [container("main", {"cpu": "0", "memory": "1Gi"})], {}, None),
    ("a part of a processor", [container("main", PART)], {}, ""),
    ("some of the containers", [container("main", WHOLE), container("side", PART)], {}, "main=2"),
    ("all of them", [container("main", WHOLE), container("side", WHOLE)], {}, "main=2,side=2"),
    ("one that is not guaranteed", [container("main", WHOLE), container("side", None)], {}, None),
    ("a sidecar", [container("main", WHOLE)],
     {"initContainers": [container("proxy", WHOLE, restartPolicy="Always")]}, "proxy=2,main=2"),
    ("one that prepares", [container("main", WHOLE)], {"initContainers": [container("init", WHOLE)]}, "main=2"),
    ("one that prepares and shares", [container("main", WHOLE)], {"initContainers": [container("init", None)]}, None),
    ("resources of the whole pod", [container("main", WHOLE)], {"resources": {"limits": WHOLE}}, None),
]  # fmt: skip


@pytest.mark.parametrize(("title", "containers", "spec", "expected"), PODS, ids=[title for title, *_ in PODS])
def test_pods_with_exclusive_cpus(
    title: str, containers: list[Any], spec: dict[str, Any], expected: str | None
) -> None:
    [decoded] = objects([pod(name="x", containers=containers, **spec)])
    assert requested_cpus(decoded) == expected  # type: ignore[arg-type]
