"""Pods that are spread evenly over the domains of a label."""

from typing import Any

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import Facts, Manifest, foreign, gang, gang_of, node, pod

ZONE = "zone"
WEB: Facts = {"app": "web"}
#: The zones of nodes a, b, c.
ZONES = [node(name, 9, labels={ZONE: zone}) for name, zone in zip("abc", ("east", "west", "north"), strict=True)]


def spread(key: str = ZONE, skew: int = 1, labels: Manifest | None = None, **more: Any) -> Manifest:
    """A web pod with a hard constraint on web pods."""
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
        **more,
    }
    return {"labels": {**WEB, **(labels or {})}, "topologySpreadConstraints": [constraint]}


def web(*places: str) -> list[Manifest]:
    """Running web pods."""
    return [foreign(place, labels=WEB, name=f"web-{number}") for number, place in enumerate(places)]


CASES = [
    Case("evenly over three zones", ZONES, gang(6, **spread()), binds="abcabc"),
    Case("where the fewest are", ZONES, web("a", "b"), gang(1, **spread()), binds="c"),
    Case("one more than the fewest is allowed", ZONES, web("a"), gang(2, **spread()), binds="bc"),
    Case("two more than the fewest", ZONES, gang(4, **spread(skew=2)), binds="aabb"),
    Case(
        "an uneven zone keeps the others waiting",
        ZONES[:2], node("c", 0, labels={ZONE: "north"}), gang(3, **spread()), binds="---",
        codes={"gang": ["InsufficientResource", "TopologySpreadViolated", "GangDoesNotFit"]},
        reasons={
            "gang": [
                "0/3 nodes are available: 2 node(s) didn't match pod topology spread constraints, 1 Insufficient cpu.",
            ],
        },
    ),
    Case(
        "unless it is only a preference",
        ZONES[:2], node("c", 0, labels={ZONE: "north"}), gang(3, **spread(whenUnsatisfiable="ScheduleAnyway")),
        binds="aaa",
    ),
    Case(
        "a node without the label cannot take the pod",
        node("a", 9), node("b", 9, labels={ZONE: "west"}), gang(1, **spread()), binds="b",
    ),
    Case(
        "its message",
        node("a", 9), gang(1, **spread()), binds="-", codes={"gang": ["TopologySpreadViolated"]},
        reasons={
            "gang": [
                "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints "
                "(missing required label).",
            ],
        },
    ),
    Case(
        "pods of other kinds do not count",
        ZONES, foreign("a", labels={"app": "other"}), gang(1, **spread()), binds="a",
    ),
    Case(
        "pods of other namespaces do not count",
        ZONES, foreign("a", labels=WEB, namespace="elsewhere"), gang(1, **spread()), binds="a",
    ),
    Case(
        "a pod that does not count itself",
        ZONES, web("a"), gang(1, topologySpreadConstraints=spread()["topologySpreadConstraints"]), binds="a",
    ),
    Case("fewer domains than required: none may be ahead", ZONES, gang(4, **spread(minDomains=4)), binds="----"),
    Case("as many domains as wanted", ZONES, gang(4, **spread(minDomains=3)), binds="abca"),
    Case(
        "zones that the pod cannot use do not count",
        ZONES, web("a", "b"), gang(1, nodeSelector={ZONE: "east"}, **spread()), binds="a",
    ),
    Case(
        "unless they are to count",
        ZONES, web("a", "b"), gang(1, nodeSelector={ZONE: "east"}, **spread(nodeAffinityPolicy="Ignore")), binds="-",
    ),
    Case(
        "tainted zones count",
        ZONES[:2], node("c", 9, labels={ZONE: "north"}, taints=["gpu:NoSchedule"]), web("a", "b"), gang(1, **spread()),
        binds="-",
    ),
    Case(
        "unless they are not to",
        ZONES[:2], node("c", 9, labels={ZONE: "north"}, taints=["gpu:NoSchedule"]), web("a", "b"),
        gang(1, **spread(nodeTaintsPolicy="Honor")), binds="a",
    ),
    Case(
        "the own value of a label counts",
        ZONES, foreign("a", labels={**WEB, "hash": "1"}),
        gang(1, **spread(labels={"hash": "2"}, matchLabelKeys=["hash"])), binds="a",
    ),
    Case(
        "all constraints must hold",
        node("a", 9, labels={ZONE: "east", "rack": "1"}), node("b", 9, labels={ZONE: "east", "rack": "2"}),
        node("c", 9, labels={ZONE: "west", "rack": "3"}), web("a"),
        gang(
            1, labels=WEB,
            topologySpreadConstraints=[
                spread()["topologySpreadConstraints"][0], spread("rack")["topologySpreadConstraints"][0],
            ],
        ),
        binds="c",
    ),
    Case(
        "members of one gang with different sizes",
        ZONES, gang_of(*(pod(size, **spread()) for size in (1, 2, 3))), binds="abc",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_spread(case: Case) -> None:
    case.check()
