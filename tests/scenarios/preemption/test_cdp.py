"""A newly placed pod is protected for a while."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import gang, namespace, nodes, priority_class, queue, running

COOLDOWN = "volcano.sh/cooldown-time"
PREEMPT, RECLAIM, FOR_PREEMPT = "evict-preemptable", "evict-reclaimable", "evict-for-preemption"


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


NOON = {**namespace("clock"), "metadata": {"name": "clock", "uid": "clock", "creationTimestamp": at("12:00")}}
PREEMPTOR = gang(1, name="preemptor", priority="high")


def standing(
    place: str = "a", cooldown: str = "", *, since: str | None = "11:50", label: str = "", **facts: Any
) -> Any:
    """A pod that got its node at a time, with a cool-down time as an annotation or a label."""
    return running(
        place, placed=at(since) if since else None, annotations={COOLDOWN: cooldown} if cooldown else None,
        labels={COOLDOWN: label} if label else None, **facts,
    )  # fmt: skip


def protection(
    name: str, *world: Any, evicts: str = "", by: tuple[Any, ...] = ("cdp",), of: str = PREEMPT, **more: Any
) -> Case:
    """Victims at noon when the action `of` evaluates the plugins `by`."""
    return Case(
        name, NOON, priority_class("high", 9), nodes(1, 4), world, PREEMPTOR, conf=configuration(*by, actions=of),
        evicts=[f"{victim}-task-0" for victim in evicts.split()], binds="-", extensions=PROBE_ACTIONS, **more,
    )  # fmt: skip


IGNORED = "it is ignored"

CASES = [
    protection("a newly placed pod stays", standing("a", "15m")),
    protection("after its time it may be evicted", standing("a", "5m"), evicts="old"),
    protection("to the second", standing("a", "10m"), evicts="old"),
    protection("a moment before", standing("a", "10m1s")),
    protection("a pod without the annotation may be evicted", standing("a"), evicts="old"),
    protection("a label does as well", standing("a", label="15m")),
    protection("a label counts more than an annotation", standing("a", "1m", label="15m")),
    protection("nor the other way round", standing("a", "15m", label="1m"), evicts="old"),
    protection("each for itself", standing("a", "15m", name="one"), standing("b", "1m", name="two"), evicts="two"),
    protection("the time since it got its node counts, not its age",
               standing("a", "15m", since="11:50", created=at("01:00"))),
    protection("long ago", standing("a", "15m", since="09:00"), evicts="old"),
    protection("the start time is unknown", standing("a", "15m", since=None), evicts="old"),
    protection("hours, minutes and seconds", standing("a", "0h9m61s")),
    protection("for reclaim, too", standing("a", "15m"), of=RECLAIM),
    protection("and after its time", standing("a", "5m"), of=RECLAIM, evicts="old"),
    protection("for whole jobs, too", standing("a", "15m"), of=FOR_PREEMPT),
    protection("and after", standing("a", "5m"), of=FOR_PREEMPT, evicts="old"),
    protection("beside priority", standing("a", "15m", name="one"), standing("b", name="two"),
               standing("c", priority="high", name="three"), by=("priority", "cdp"), evicts="two"),
    protection("in a tier of its own below", standing("a", "15m", name="one"), standing("b", name="two"),
               by=(["priority"], ["cdp"]), evicts="two"),
    protection("in a tier of its own above", standing("a", "15m", name="one"), standing("b", name="two"),
               standing("c", priority="high", name="three"), by=(["cdp"], ["priority"]), evicts="two"),
    protection("the switch of preemption", standing("a", "15m"), evicts="old",
               by=(["priority"], [plugin("cdp", enablePreemptable=False)])),
    protection("the switch of reclaiming", standing("a", "15m"), of=RECLAIM, evicts="old",
               by=(["conformance"], [plugin("cdp", enableReclaimable=False)])),
    protection(
        "an invalid value protects no pod, and is reported once", standing("a", "a while", name="one"),
        standing("b", "a while", name="two"), evicts="one two",
        warnings=[
            f"label or annotation {COOLDOWN}: 'a while' is not a duration; write one such as 90s, 30m or 1h30m; "
            f"{IGNORED}",
        ],
    ),
    protection(
        "so is no time at all", standing("a", "0s"), evicts="old",
        warnings=[f"label or annotation {COOLDOWN}: '0s' is not between 0 and 100 years; {IGNORED}"],
    ),
]  # fmt: skip


FULL = [NOON, priority_class("high", 9), nodes(1, 2)]
PREEMPTING = configuration(["priority", "gang"], ["cdp", "predicates"], actions="enqueue, allocate, preempt")

PREEMPTION = [
    Case("preempt evicts a pod after its cooldown", FULL, standing("a", "5m", name="one"),
         standing("b", "15m", name="two"),
         PREEMPTOR, conf=PREEMPTING, evicts=["one-task-0"], binds="A"),
    Case("or none", FULL, standing("a", "15m", name="one"), standing("b", "15m", name="two"), PREEMPTOR,
         conf=PREEMPTING, binds="-"),
    Case("a pod that is bound and does not run yet stays, too", FULL, standing("a", "15m", name="one", phase="Pending"),
         standing("b", name="two"), PREEMPTOR, conf=PREEMPTING, evicts=["two-task-0"], binds="B"),
    Case("reclaim evicts no pod before its time", NOON, nodes(1, 2), queue("poor"), queue("rich"),
         standing("a", "15m", name="one", queue="rich"), standing("b", "5m", name="two", queue="rich"),
         gang(1, queue="poor"), evicts=["two-task-0"], binds="B",
         conf=configuration(["gang"], ["cdp", "proportion", "predicates"], actions="enqueue, allocate, reclaim")),
]  # fmt: skip


@pytest.mark.parametrize("case", [*CASES, *PREEMPTION], ids=str)
def test_cdp(case: Case) -> None:
    case.check()


def test_plan_keeps_bind_time_between_cycles() -> None:
    """The next cycle does not evict what one cycle binds."""
    young = gang(1, name="young", annotations={COOLDOWN: "5m"}, created=at("01:00"))
    plain = gang(1, name="plain", created=at("01:00"))
    conf = configuration("predicates", "cdp", actions="allocate, evict-preemptable")
    late = gang(1, name="late", cpu=9)
    case = Case("", NOON, nodes(1, 2), young, plain, late, conf=conf, binds="", cycles=2, extensions=PROBE_ACTIONS)
    assert [key.partition("/")[2] for key in case.plan().evictions] == ["plain-task-0"]
