"""The effective request of a pod: the smallest node that takes it has exactly that much."""

from typing import Any

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import Facts, Manifest, amounts, foreign, gang_of, node, pod


def container(cpu: object = None, memory: object = None, **facts: Any) -> Manifest:
    limits = {"limits": {"cpu": facts.pop("limit")}} if "limit" in facts else {}
    return {"name": "main", "resources": {"requests": amounts(cpu, memory), **limits}, **facts}


def sidecar(cpu: object) -> Manifest:
    return container(cpu, restartPolicy="Always")


def asks(name: str, milli: int, *containers: Manifest, init: list[Manifest] | None = None, **spec: Any) -> Case:
    """Node `b` has exactly the milli-cpu that the pod requests, node `a` one less."""
    fields: Facts = {"initContainers": init, **spec} if init else spec
    wanted = pod(containers=list(containers), **fields)
    return Case(name, node("a", f"{milli - 1}m"), node("b", f"{milli}m"), gang_of(wanted), binds="b")


CONTAINERS = [
    asks("one container", 500, container("500m")),
    asks("containers are added up", 1750, container(1), container("750m")),
    asks("a limit without a request is the request", 700, container(limit="700m")),
    asks("a request counts, not its limit", 300, container("300m", limit="700m")),
    asks("a fraction of a thousandth is rounded up", 1, container("100u")),
    asks("a number without quotes", 2000, container(2)),
    asks("a decimal number", 1500, container("1.5")),
    asks("an exponent", 2000, container("2e0")),
]  # fmt: skip

INIT = [
    asks("a small init container is covered", 500, container("500m"), init=[container("400m")]),
    asks("a large init container is the peak", 900, container("500m"), init=[container("900m")]),
    asks(
        "init containers run one after the other",
        900, container("500m"), init=[container("900m"), container("800m")],
    ),
    asks("a sidecar stays", 800, container("500m"), init=[sidecar("300m")]),
    asks(
        "init containers run beside the sidecars before them",
        1200, container("500m"), init=[sidecar("300m"), container("900m")],
    ),
    asks("and not beside those after them", 900, container("500m"), init=[container("900m"), sidecar("300m")]),
    asks("sidecars are added up", 1100, container("500m"), init=[sidecar("300m"), sidecar("300m")]),
]  # fmt: skip

POD = [
    asks("overhead comes on top", 750, container("500m"), overhead={"cpu": "250m"}),
    asks("overhead on top of the peak", 1150, container("500m"), init=[container("900m")], overhead={"cpu": "250m"}),
    asks(
        "the pod-level request replaces the sum",
        600, container("500m"), container("500m"), resources={"requests": {"cpu": "600m"}},
    ),
    asks("and the peak", 600, container("500m"), init=[container("900m")], resources={"requests": {"cpu": "600m"}}),
    asks(
        "and overhead comes on top of it",
        700, container("500m"), resources={"requests": {"cpu": "600m"}}, overhead={"cpu": "100m"},
    ),
    asks(
        "a resource that the pod does not name as a whole is summed",
        1000, container("500m"), container("500m"), resources={"requests": {"memory": "1Gi"}},
    ),
]  # fmt: skip

OTHERS = [
    Case("memory to the byte", node("a", memory=1023), node("b", memory="1Ki"), gang_of(pod(0, 1024)), binds="b"),
    Case("binary and decimal", node("a", memory="1G"), node("b", memory="1Gi"), gang_of(pod(0, "1Gi")), binds="b"),
    Case(
        "any resource by its name",
        node("a", more={"example.com/fpga": 1}), node("b", more={"example.com/fpga": 2}),
        gang_of(pod(more={"example.com/fpga": 2})), binds="b",
    ),
    Case(
        "local storage",
        node("a", more={"ephemeral-storage": "1Gi"}), node("b", more={"ephemeral-storage": "2Gi"}),
        gang_of(pod(more={"ephemeral-storage": "1500Mi"})), binds="b",
    ),
    Case(
        "large pages",
        node("a"), node("b", more={"hugepages-2Mi": "4Mi"}), gang_of(pod(more={"hugepages-2Mi": "4Mi"})), binds="b",
    ),
    Case(
        "a resource that no node has",
        node("a"), gang_of(pod(more={"example.com/fpga": 1})), binds="-",
        reasons={"gang": ["no node has example.com/fpga"]}, codes={"gang": ["NoNodeHasResource"]},
    ),
    Case("none of a resource that no node has", node("a"), gang_of(pod(more={"example.com/fpga": 0})), binds="a"),
    Case(
        "names that are no resources of nodes",
        node("a"), gang_of(pod(more={"count/pods": 5, "requests.cpu": 9})), binds="a",
    ),
    Case(
        "capacity, where allocatable is absent",
        {**node("a"), "status": {"capacity": {"cpu": 1}}}, gang_of(pod(1)), binds="a",
    ),
    Case(
        "a node that lends more than it has",
        node(
            "a", labels={"volcano.sh/oversubscription": "true"},
            annotations={"volcano.sh/oversubscription-cpu": "1000"},
        ),
        gang_of(pod(5)), binds="a",
    ),
    Case(
        "a pod whose resize is infeasible counts with what it was granted",
        node("a", 4), {
            **foreign("a", cpu=4),
            "status": {
                "phase": "Running",
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
                "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": 1}}],
            },
        },
        gang_of(pod(3)), binds="a",
    ),
    Case(
        "a pod that is being resized counts with the larger of both requests",
        node("a", 4),
        {
            **foreign("a", 1),
            "status": {"phase": "Running", "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": 2}}]},
        },
        gang_of(pod(3)), binds="-",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CONTAINERS + INIT + POD + OTHERS, ids=str)
def test_requests(case: Case) -> None:
    case.check()
