"""Capacity that becomes free: terminating pods, nominated nodes, gates, and the next cycle."""

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    foreign,
    gang,
    gang_of,
    group,
    node,
    nodes,
    pod,
    pods,
    queue,
    running,
)

LEAVING: Facts = {"cpu": 2, "releasing": True}
FAIR = configuration("gang", "drf", "predicates")

RELEASE = [
    Case(
        "a pod is pipelined until the terminating pod is gone",
        nodes(2, 1), running("a", **LEAVING), gang(1, cpu=2), binds="A",
        reasons={"gang": ["1 task will start once the pods that are being released are gone"]},
        codes={"gang": ["WaitingForRelease"]},
    ),
    Case("a pod that stays leaves nothing to wait for", nodes(2, 1), running("a", cpu=2), gang(1, cpu=2), binds="-"),
    Case("any terminating pod frees capacity", nodes(2, 1), foreign("a", **LEAVING), gang(1, cpu=2), binds="A"),
    Case("a free node is better than one to wait for", nodes(2, 2), running("a", **LEAVING), gang(1, cpu=2), binds="b"),
    Case(
        "the whole gang waits for the capacity of one: no pod is bound",
        nodes(4, 1), running("a", **LEAVING), gang(2, cpu=2), binds="-A",
    ),
    Case(
        "a gang that will not be whole reserves nothing",
        nodes(4, 1), running("a", **LEAVING), gang(3, cpu=2, name="first"), gang(1, cpu=2, name="second"),
        binds="--- a",
    ),
    Case(
        "pipelined capacity is not used by others in the same cycle",
        nodes(2, 1), running("a", **LEAVING), gang(1, cpu=2, name="first"), gang(1, cpu=2, name="second"), binds="A -",
    ),
    Case(
        "capacity of a waiting gang is not used by others either",
        nodes(4, 1), running("a", **LEAVING), gang(2, cpu=2, name="first"), gang(1, cpu=2, name="second"), binds="-A -",
    ),
    Case(
        "jobs share capacity that becomes free as they share free capacity",
        nodes(4, 1), running("a", cpu=4, releasing=True), gang(4, name="first", minimum=1),
        gang(4, name="second", minimum=1), conf=configuration("gang", "drf", "predicates"), binds="AA-- AA--",
    ),
    Case(
        "a member beyond the minimum waits for its turn, though a nominated one waits for release",
        nodes(2, 1), node("b", 4), node("c", 20, cordoned=True), queue("other"), running("a", **LEAVING),
        gang_of(pod(1, nominated="a"), *pods(3), name="first", minimum=3),
        gang(3, name="second", minimum=1, queue="other"), conf=configuration("gang", "proportion", "predicates"),
        binds="A--- bbA",
    ),
    Case(
        "pipelined capacity includes what is free beside it",
        nodes(4, 1), running("a", **LEAVING), gang(1, cpu=4, name="first"), gang(1, cpu=2, name="second"), binds="A -",
    ),
    Case(
        "capacity that is freed in a cycle is used in it, also by jobs that were rejected before",
        nodes(1, 1), running("a"), gang(1, name="first"), gang(1, name="second"),
        conf=configuration("gang", "predicates", actions="enqueue, allocate, evict-preemptable, allocate"),
        extensions=PROBE_ACTIONS, evicts=["old-task-0"], binds="A -",
    ),
    Case(
        "pipelined capacity counts for the queue",
        nodes(2, 2), queue("small", capability={"cpu": 2}), running("a", **LEAVING), foreign("b", cpu=2),
        gang(1, cpu=2, name="first", queue="small"), gang(1, cpu=2, name="second", queue="small"),
        conf=configuration("gang", "proportion", "predicates"), binds="A -",
        codes={"second": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "without the plugin the first that waits is content",
        nodes(4, 1), running("a", **LEAVING), gang(2, cpu=2), conf=configuration("predicates"), binds="aA",
    ),
    Case(
        "a small member completes the minimum that others were kept for: they are bound with it",
        nodes(4, 2), running("a", **LEAVING), gang_of(pod(3), pod(3), pod(1), minimum=2), binds="bAa",
    ),
    Case(
        "a small member of another kind does so, too, when its job has its next turn after other jobs",
        nodes(4, 2), running("a", **LEAVING), gang_of(pod(3), pod(3), pod(1), minimum=2, name="first"),
        gang(1, name="second"), conf=FAIR, binds="bAa b",
    ),
    Case(
        "the minimum is bound, the rest is pipelined",
        nodes(4, 1), running("a", **LEAVING), gang(2, cpu=2, minimum=1), binds="aA",
    ),
]  # fmt: skip

NOMINATED = [
    Case("a nominated node is tried first", nodes(2, 2), gang(1, nominated="b"), binds="b"),
    Case("a nominated node that is gone is forgotten", nodes(2, 1), gang(1, nominated="z"), binds="a"),
    Case("a nominated node that is full is forgotten", nodes(2, 1), node("b", 0), gang(1, nominated="b"), binds="a"),
    Case(
        "a nominated node that refuses the pod is forgotten",
        nodes(2, 1), node("b", 2, taints=["gpu=true:NoSchedule"]), gang(1, nominated="b"), binds="a",
    ),
    Case(
        "a nominated node is waited for while another is free",
        nodes(2, 2), running("b", **LEAVING), gang(1, cpu=2, nominated="b"), binds="B",
    ),
    Case(
        "each member is placed on its own nominated node",
        nodes(2, 3), gang_of(pod(nominated="c"), pod(nominated="b"), pod()), binds="cba",
    ),
    Case(
        "a nominated member that fits does not save a gang that does not",
        nodes(1, 2), gang_of(pod(nominated="b"), pod(2)), binds="--",
    ),
    Case(
        "what a nominated gang could have, others of its class can still have",
        nodes(2, 1), gang_of(pod(nominated="a"), pod(), pod(), name="first"), gang(2, name="second"), binds="--- aa",
    ),
]  # fmt: skip

GATES = [
    Case(
        "a gated pod is skipped",
        nodes(2, 1), gang(1, gated=True), binds="-", reasons={"gang": ["scheduling gates hold back 1 pod"]},
        codes={"gang": ["SchedulingGated"]},
    ),
    Case("a gated member leaves its gang short", nodes(4, 1), gang_of(pod(), pod(gated=True)), binds="--"),
    Case("a gated member that is not needed", nodes(4, 1), gang_of(pod(), pod(gated=True), minimum=1), binds="a-"),
    Case("a gated pod without a request", nodes(4, 1), gang_of(pod(0, gated=True), minimum=0), binds="-"),
]  # fmt: skip

CYCLES = [
    Case("bound pods run in the next cycle", nodes(2, 1), gang(2), cycles=2, binds="aa", phases={"gang": "Running"}),
    Case("nothing is bound twice", nodes(4, 1), gang(2), gang(3, name="next"), cycles=3, binds="aa ---"),
    Case(
        "pods that are being deleted are gone in the next cycle",
        nodes(2, 1), running("a", **LEAVING), gang(1, cpu=2), cycles=2, binds="a",
    ),
    Case(
        "a job that is admitted in one cycle keeps its placement in the next",
        nodes(1, 1), gang(2), cycles=2, binds="--", phases={"gang": "Inqueue"},
    ),
    Case(
        "actions run in their order: with enqueue at the end the second cycle places",
        nodes(2, 1), gang(2), conf=configuration("gang", actions="allocate, enqueue"), cycles=2, binds="aa",
    ),
    Case(
        "and the first does not",
        nodes(2, 1), gang(2), conf=configuration("gang", actions="allocate, enqueue"), binds="--",
        phases={"gang": "Inqueue"},
    ),
    Case(
        "what was bound in one cycle is used in the next",
        nodes(3, 1), gang(2, name="first"), group("second", 2, phase="Inqueue"), gang(2, name="second")[1:], cycles=2,
        binds="aa --", reasons={"second": ["0/1 nodes are available: 1 Insufficient cpu."]},
    ),
    Case("pods without a request are placed by the last action", nodes(1, 1), gang_of(pod(), *pods(2, 0)), binds="aaa"),
]  # fmt: skip


@pytest.mark.parametrize("case", RELEASE + NOMINATED + GATES + CYCLES, ids=str)
def test_waiting_for_release(case: Case) -> None:
    case.check()


MESSAGES = {
    "idle capacity, beside a member that waits for release": (
        gang(2, cpu=2), ["{0} can possibly be assigned to a, once minAvailable is satisfied",
                         "{0} can possibly be assigned to a, once resource is released and minAvailable is satisfied"],
    ),
    "no member can start": (gang(3, cpu=2), [
        "{0} can possibly be assigned to a, once minAvailable is satisfied",
        "{0} can possibly be assigned to a, once resource is released and minAvailable is satisfied",
        "0/1 nodes are available: 1 Insufficient cpu.",
    ]),
}  # fmt: skip


@pytest.mark.parametrize(("waiting", "messages"), MESSAGES.values(), ids=MESSAGES)
def test_every_waiting_member_has_its_own_message(waiting: list[Manifest], messages: list[str]) -> None:
    standing = [*running("a", cpu=2, name="stays"), *running("a", **LEAVING)]
    plan = Case("messages", nodes(6, 1), standing, waiting, binds="").plan()
    keys = [f"default/gang-task-{number}" for number in range(len(messages))]
    assert [plan.pods[key][0] for key in keys] == ["Unschedulable"] * len(keys)
    for key, message in zip(keys, messages, strict=True):
        assert message.format(f"Pod {key}") in plan.pods[key][1]
