"""Revocable nodes with a time window."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import Facts, gang, gang_of, namespace, node, nodes, pod, queue, running

ZONE = "volcano.sh/revocable-zone"
PREEMPTABLE = "volcano.sh/preemptable"
DAY, NIGHT = "08:00-18:00", "20:00-06:00"


def clock(hour: str) -> Any:
    """The latest object of a cluster defines the current time."""
    metadata = {"name": "clock", "uid": "clock", "creationTimestamp": f"2026-03-01T{hour}:00Z"}
    return {**namespace("clock"), "metadata": metadata}


def zones(hours: str = DAY, *, actions: str = "enqueue, allocate, backfill", beside: Any = ("gang", "predicates"),
          **more: Any) -> str:  # fmt: skip
    """The zone `z` is revocable in this time window; none is configured for an empty text."""
    arguments = {"tdm.revocable-zone.z": hours} if hours else {}
    own = plugin("tdm", arguments | more.pop("given", {}), **more)
    return configuration(*beside, own, actions=actions)


NOON = clock("12:00")
LENT = node("a", labels={ZONE: "z"})
PLAIN = node("b")
#: Pods that may run on revocable nodes.
WILLING: Facts = {"annotations": {ZONE: "*"}}
MARKED: Facts = {"annotations": {PREEMPTABLE: "true"}}

NODES = [
    Case("a revocable node takes revocable pods", NOON, LENT, gang(1, **WILLING), conf=zones(), binds="a"),
    Case("a preemptable pod is revocable", NOON, LENT, gang(1, **MARKED), conf=zones(), binds="a"),
    Case("also by a label", NOON, LENT, gang(1, labels={PREEMPTABLE: "true"}), conf=zones(), binds="a"),
    Case(
        "no others", NOON, LENT, gang(1), conf=zones(), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 not allow to dispatch to revocable node."]},
        codes={"gang": ["RevocableNode"]},
    ),
    Case("not a pod of a named zone", NOON, LENT, gang(1, annotations={ZONE: "z"}), conf=zones(), binds="-"),
    Case("its word about zones counts first", NOON, LENT, gang(1, annotations={ZONE: "z", PREEMPTABLE: "true"}),
         conf=zones(), binds="-"),
    Case("nor a pod that is not preemptable", NOON, LENT, gang(1, annotations={PREEMPTABLE: "false"}), conf=zones(),
         binds="-"),
    Case("others are placed as before", NOON, LENT, PLAIN, gang(1), conf=zones(), binds="b"),
    Case("a revocable pod avoids the other nodes", NOON, PLAIN, node("c", labels={ZONE: "z"}), gang(1, **WILLING),
         conf=zones(), binds="c"),
    Case("as long as there is capacity", NOON, node("a", 1, labels={ZONE: "z"}), PLAIN, gang(3, **WILLING),
         conf=zones(),
         binds="abb"),
    Case(
        "before its time window a node takes no pod", clock("07:59"), LENT, gang(1, **WILLING), conf=zones(), binds="-",
        reasons={"gang": [f"0/1 nodes are available: 1 current time beyond revocable zone z:{DAY}."]},
    ),
    Case("from the first minute", clock("08:00"), LENT, gang(1, **WILLING), conf=zones(), binds="a"),
    Case("to the last", clock("17:59"), LENT, gang(1, **WILLING), conf=zones(), binds="a"),
    Case("and not after", clock("18:00"), LENT, gang(1, **WILLING), conf=zones(), binds="-"),
    Case("a night begins in the evening", clock("20:00"), LENT, gang(1, **WILLING), conf=zones(NIGHT), binds="a"),
    Case("and lasts until the morning", clock("05:59"), LENT, gang(1, **WILLING), conf=zones(NIGHT), binds="a"),
    Case("then it is over", clock("06:00"), LENT, gang(1, **WILLING), conf=zones(NIGHT), binds="-"),
    Case("from midnight to midnight is always", NOON, LENT, gang(1, **WILLING), conf=zones("0:00-0:00"), binds="a"),
    Case(
        "an unknown zone", NOON, node("a", labels={ZONE: "y"}), gang(1, **WILLING), conf=zones(), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 revocable zone y not support."]},
    ),
    Case("no zone is known at all", NOON, LENT, PLAIN, gang(1, **WILLING), conf=zones(""), binds="b"),
    Case(
        "every reason with its nodes", NOON, LENT, node("b", labels={ZONE: "y"}), node("c", labels={ZONE: "x"}),
        gang(1), conf=zones(given={"tdm.revocable-zone.x": NIGHT}), binds="-",
        reasons={"gang": [
            f"0/3 nodes are available: 1 current time beyond revocable zone x:{NIGHT}, "
            "1 not allow to dispatch to revocable node, 1 revocable zone y not support.",
        ]},
    ),
    Case("the switch of the rule", clock("19:00"), LENT, gang(1), conf=zones(enablePredicate=False), binds="a"),
    Case("the switch of the preference", NOON, PLAIN, node("c", labels={ZONE: "z"}), gang(1, **WILLING),
         conf=zones(enableNodeOrder=False), binds="b"),
]  # fmt: skip

#: A preemptable PodGroup.
SOFT: Facts = {"notes": {PREEMPTABLE: "true"}}

JOBS = [
    Case("a pod that is not preemptable comes first", NOON, nodes(1, 1), gang(1, name="a", **SOFT), gang(1, name="b"),
         conf=zones(), binds="-a"),
    Case("the switch of the order", NOON, nodes(1, 1), gang(1, name="a", **SOFT), gang(1, name="b"),
         conf=zones(enableJobOrder=False), binds="a-"),
    Case("pods of a gang that will be whole are pipelined", NOON, nodes(2, 1), running("a", cpu=2, releasing=True),
         gang(2), conf=zones(beside=("predicates",)), binds="AA"),
    Case("and not for one that will not", NOON, nodes(2, 1), running("a", cpu=1, releasing=True),
         running("a", cpu=1, name="stays"), gang_of(pod(), pod(), minimum=2), gang(1, name="late"),
         conf=configuration(["tdm"], ["gang", "predicates"]), binds="-- A"),
]  # fmt: skip


def leaving(
    name: str, *world: Any, evicts: str = "", hour: str = "19:00", conf: str | None = None, also: Any = (),
    binds: str = "-", **more: Any,
) -> Case:  # fmt: skip
    """Pods that are evicted from the node `a` of the zone, which is revocable by day."""
    conf = conf or zones(actions="evict-victims")
    return Case(
        name, clock(hour), node("a", 9, labels={ZONE: "z"}), node("b", 9), world, also, gang(1, cpu=99, name="waits"),
        conf=conf, evicts=[f"old-task-{number}" for number in evicts], binds=binds, extensions=PROBE_ACTIONS, **more,
    )  # fmt: skip


def budget(**notes: str) -> dict[str, Any]:
    named = {"most": "volcano.sh/jdb-max-unavailable", "least": "volcano.sh/jdb-min-available"}
    return {"notes": {PREEMPTABLE: "true", **{named[key]: text for key, text in notes.items()}}}


LEAVING = [
    leaving("when its time is over, pods leave a node", running("a", **SOFT), evicts="0"),
    leaving("not before", running("a", **SOFT), hour="17:00"),
    leaving("not those that may not be preempted", running("a")),
    leaving("a pod's own word counts first", running("aa", **SOFT, annotations={PREEMPTABLE: "false"})),
    leaving("in both ways", running("a", annotations={PREEMPTABLE: "true"}), evicts="0"),
    leaving("no pod leaves other nodes", running("b", **SOFT)),
    leaving("nor an unknown zone", running("a", **SOFT), conf=zones("", actions="evict-victims")),
    leaving("one at a time, by default", running("aaa", **SOFT), evicts="0"),
    leaving("as many as may be missing", running("aaa", **budget(most="2")), evicts="01"),
    leaving("in per cent, rounded up", running("aaa", **budget(most="34%")), evicts="01"),
    leaving("all that run but those that must stay", running("aaa", **budget(least="1")), evicts="01"),
    leaving("what must stay in per cent, rounded up", running("aaa", **budget(least="34%")), evicts="0"),
    leaving("none when all must stay", running("aaa", **budget(least="3"))),
    leaving("none when more must stay than run", running("aaa", **budget(least="9"))),
    leaving("none when the budget allows none", running("aaa", **budget(most="0"))),
    leaving("what may be missing counts before what must stay", running("aaa", **budget(most="1", least="0")),
            evicts="0"),
    leaving(
        "missing pods count already", evicts="0", binds="--",
        also=gang_of(*[pod(nodeName="a")] * 3, pod(cpu=99), name="old", minimum=0, phase="Running", **budget(most="2")),
    ),
    leaving(
        "finished pods are not missing", evicts="01",
        also=gang_of(
            *[pod(nodeName="a")] * 2, pod(nodeName="a", phase="Succeeded"), name="old", minimum=0, phase="Running",
            **budget(most="2"),
        ),
    ),
    leaving(
        "an invalid value is reported and ignored", running("aaa", **budget(most="some")), evicts="0",
        warnings=[
            "PodGroup default/old: annotation volcano.sh/jdb-max-unavailable: write a number or a percentage, "
            "not 'some'; it is ignored",
        ],
    ),
    leaving("a second round waits for its period", running("aaa", **SOFT), evicts="0", cycles=2),
    leaving("the switch of leaving", running("a", **SOFT), conf=zones(actions="evict-victims", enabledVictim=False)),
]  # fmt: skip


def preempting(name: str, *world: Any, evicts: str = "", preemptor: Any = None, **more: Any) -> Case:
    """Victims of a waiting pod; node `a` is revocable right now, `b` and `c` are not."""
    preemptor = preemptor or gang(1, cpu=99, name="waits")
    conf = more.pop("conf", configuration(plugin("tdm", {"tdm.revocable-zone.z": DAY}), actions="evict-preemptable"))
    return Case(
        name, NOON, node("a", 9, labels={ZONE: "z"}), node("b", 9), node("c", 9), world, preemptor, conf=conf,
        evicts=[f"{word[:-1]}-task-{word[-1]}" for word in evicts.split()], binds="-", extensions=PROBE_ACTIONS, **more,
    )  # fmt: skip


PREEMPTION = [
    preempting("a pod that could run elsewhere is evicted", running("b", **SOFT), evicts="old0"),
    preempting("a pod on a revocable node stays", running("a", **SOFT)),
    preempting("a pod that is not preemptable stays", running("b")),
    preempting("one of each job", running("bc", name="one", **SOFT), running("bc", name="two", **SOFT),
                evicts="one0 two0"),
    preempting("as its owner allows", running("bbc", **budget(most="2")), evicts="old0 old1"),
    preempting("nothing for a preemptor that is preemptable itself", running("b", **SOFT),
                preemptor=gang(1, cpu=99, name="waits", **MARKED)),
    preempting("nor for a job that may be", running("b", **SOFT), preemptor=gang(1, cpu=99, name="waits", **SOFT)),
    preempting("nor for a revocable one", running("b", **SOFT), preemptor=gang(1, cpu=99, name="waits", **WILLING)),
    preempting("the switch of preemption", running("b", **SOFT),
                conf=configuration(plugin("tdm", enablePreemptable=False), actions="evict-preemptable")),
    preempting("a pod that is not preemptable starves while it waits", running("b"), evicts="old0",
                conf=configuration("tdm", actions="evict-for-starving")),
    preempting("a preemptable one does not", running("b"), preemptor=gang(1, cpu=99, name="waits", **SOFT),
                conf=configuration("tdm", actions="evict-for-starving")),
]  # fmt: skip

PREEMPTED = [
    Case("capacity is freed by preemption", NOON, node("a", 1, labels={ZONE: "z"}), node("b", 1), queue("default"),
         running("b", **SOFT), gang(1, name="waits"), evicts=["old-task-0"], binds="B",
         conf=zones(actions="enqueue, allocate, preempt", beside=("predicates",))),
]  # fmt: skip


@pytest.mark.parametrize("case", [*NODES, *JOBS, *LEAVING, *PREEMPTION], ids=str)
def test_tdm(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", PREEMPTED, ids=str)
def test_tdm_in_preemption(case: Case) -> None:
    case.check()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tdm.revocable-zone.z": "all day"}, "'all day' is no range of hours; write one such as 20:00-06:00"),
        ({"tdm.revocable-zone.z": "08:00-24:00"}, "'08:00-24:00' is no range of hours"),
        ({"tdm.revocable-zone.z": "08:60-09:00"}, "'08:60-09:00' is no range of hours"),
        ({"tdm.revocable-zone.z": 8}, "'8' is no range of hours"),
        ({"tdm.evict.period": "now"}, "'now' is not a duration"),
        ({"tdm.evict.period": "0s"}, "'0s' is not between 0 and 100 years"),
    ],
)
def test_invalid_time_windows_are_rejected(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Case("", nodes(1, 1), gang(1), binds="").plan(configuration(plugin("tdm", arguments)))
    assert f"argument {next(iter(arguments))!r} of plugin 'tdm': {words}" in str(refused.value)
