"""Queues: their order, what each deserves, and its limits."""

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Facts, foreign, gang, gang_of, group, node, nodes, pod, queue, running

SHARES = configuration("gang", "proportion", "predicates")
#: Every pod is a job of its own, so that shares are decided pod by pod.
SINGLES: Facts = {"minimum": 0}

ORDER = [
    Case(
        "equal queues share equally",
        nodes(4, 1), queue("left"), queue("right"), gang(4, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), conf=SHARES, binds="aa-- aa--",
        deserved={"left": {"cpu": "2", "pods": "4"}, "right": {"cpu": "2", "pods": "4"}},
    ),
    Case(
        "weights decide",
        nodes(4, 1), queue("left", 3), queue("right", 1), gang(4, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), conf=SHARES, binds="aaa- a---",
    ),
    Case(
        "what one does not request is for the other",
        nodes(4, 1), queue("left"), queue("right"), gang(1, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), conf=SHARES, binds="a aaa-",
        deserved={"left": {"cpu": "1", "pods": "1"}, "right": {"cpu": "3", "pods": "4"}},
    ),
    Case(
        "requests of one cycle are not counted twice in the next",
        nodes(4, 1), queue("left"), queue("right"), gang(1, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), cycles=2, binds="a aaa-",
        conf=configuration("gang", "proportion", "predicates", actions="allocate, enqueue"),
    ),
    Case(
        "a queue without jobs deserves nothing",
        nodes(4, 1), queue("left", 100), queue("right"), gang(4, queue="right", **SINGLES), conf=SHARES, binds="aaaa",
        deserved={"left": {}, "right": {"cpu": "4", "pods": "4"}},
    ),
    Case(
        "what runs already counts",
        nodes(4, 1), queue("left"), queue("right"), running("aa", queue="left"), gang(4, queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), conf=SHARES, binds="---- aa--",
        codes={"gang": ["QueueShareExhausted"]},
    ),
    Case(
        "without the plugin the older queue takes it all",
        nodes(4, 1), queue("left"), queue("right"), gang(4, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), binds="aaaa ----",
    ),
    Case(
        "the queue with the smaller share is served first",
        nodes(3, 1), queue("left"), queue("right"), running("a", queue="left"), gang(1, name="first", queue="left"),
        gang(1, cpu=2, name="second", queue="right"),
        conf=configuration("gang", plugin("proportion", enabledAllocatable=False), "predicates"), binds="- a",
    ),
    Case(
        "a queue of higher priority is served first",
        nodes(2, 1), queue("left"), queue("right", priority=5), gang(2, name="first", queue="left"),
        gang(2, name="second", queue="right"),
        conf=configuration("gang", plugin("proportion", enabledAllocatable=False), "predicates"), binds="-- aa",
    ),
    Case(
        "of equals the first by name",
        nodes(1, 1), queue("right"), queue("left"), gang(1, name="second", queue="right"),
        gang(1, name="first", queue="left"), binds="- a",
    ),
    Case(
        "a gang needs its share whole",
        nodes(4, 1), queue("left"), queue("right"), gang(3, name="first", queue="left"),
        gang(2, name="second", queue="right"), conf=SHARES, binds="--- aa", codes={"first": ["QueueShareExhausted"]},
    ),
    Case(
        "a scarce resource is shared like any other",
        nodes(9, 1, gpu=4), queue("left"), queue("right"), gang(4, gpu=1, name="first", queue="left", **SINGLES),
        gang(4, gpu=1, name="second", queue="right", **SINGLES), conf=SHARES, binds="aa-- aa--",
    ),
    Case(
        "an indivisible amount is for the queue that can use it whole",
        nodes(3, 1), queue("left"), queue("right"), gang(3, name="first", queue="left", **SINGLES),
        gang(3, name="second", queue="right", **SINGLES), conf=SHARES, binds="a-- a--",
        deserved={"left": {"cpu": "1500m", "pods": "3"}},
    ),
    Case(
        "what pods of other schedulers hold is not shared",
        nodes(6, 1), foreign("a", cpu=2), queue("left"), queue("right"), gang(4, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), conf=SHARES, binds="aa-- aa--",
        deserved={"left": {"cpu": "2", "pods": "4"}, "right": {"cpu": "2", "pods": "4"}},
    ),
    Case(
        "what jobs of a missing queue hold is not shared",
        nodes(4, 1), running("aa", queue="gone"), gang(4, **SINGLES), conf=SHARES, binds="aa--",
        deserved={"default": {"cpu": "2", "pods": "4"}},
    ),
    Case(
        "what a terminating pod of another scheduler holds is shared",
        nodes(4, 1), foreign("a", cpu=2, releasing=True), gang(4, **SINGLES), conf=SHARES, binds="aaAA",
        deserved={"default": {"cpu": "4", "pods": "4"}},
    ),
    Case(
        "a finished pod of another scheduler holds nothing",
        nodes(4, 1), foreign("a", cpu=2, phase="Succeeded"), gang(4, **SINGLES), conf=SHARES, binds="aaaa",
        deserved={"default": {"cpu": "4", "pods": "4"}},
    ),
    Case(
        "a pod of another scheduler that requests nothing holds a pod slot",
        nodes(4, 1, pods=3), foreign("a", cpu=None), gang(4, **SINGLES), conf=SHARES, binds="aa--",
        deserved={"default": {"cpu": "4", "pods": "2"}},
    ),
    Case(
        "other pods that hold more than the nodes have leave nothing to share",
        nodes(2, 1), foreign("a", cpu=3), gang(1, name="first"), conf=SHARES, binds="-",
        deserved={"default": {"pods": "1"}}, codes={"first": ["InsufficientResource"]},
        reasons={"first": ["Insufficient cpu: the cluster has 2 and pods without a queue use 3, its jobs use 0"]},
    ),
    Case(
        "a capability of what other pods leave is the limit of the queue",
        nodes(4, 1), foreign("a", cpu=2), queue("left", capability={"cpu": 2}), running("aa", queue="left"),
        gang(1, queue="left"), conf=SHARES, binds="-", codes={"gang": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "what other pods hold may be admitted, because they may end",
        nodes(4, 1), foreign("a", cpu=2), running("aa"), group("next", 1, resources={"cpu": 1}),
        conf=configuration("gang", "proportion", "predicates", actions="enqueue"), binds="", phases={"next": "Inqueue"},
    ),
]  # fmt: skip

LIMITS = [
    Case(
        "capability is a ceiling",
        nodes(4, 1), queue("left", capability={"cpu": 2}), gang(4, queue="left", **SINGLES), conf=SHARES, binds="aa--",
        deserved={"left": {"cpu": "2", "pods": "4"}},
    ),
    Case(
        "what a capability leaves is for others",
        nodes(4, 1), queue("left", capability={"cpu": 1}), queue("right"),
        gang(4, name="first", queue="left", **SINGLES), gang(4, name="second", queue="right", **SINGLES), conf=SHARES,
        binds="a--- aaa-",
    ),
    Case(
        "a resource that a capability does not name is free",
        nodes(4, 1, gpu=4), queue("left", capability={"cpu": 4}), gang(4, gpu=1, queue="left", **SINGLES), conf=SHARES,
        binds="aaaa",
    ),
    Case(
        "none of a resource is none",
        nodes(4, 1, gpu=4), queue("left", capability={"nvidia.com/gpu": 0}), gang(2, gpu=1, queue="left", **SINGLES),
        conf=SHARES, binds="--", codes={"gang": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "none of cpu is no ceiling",
        nodes(4, 1), queue("left", capability={"cpu": 0}), gang(2, queue="left", **SINGLES), conf=SHARES, binds="aa",
    ),
    Case(
        "a guarantee is unavailable to other queues, even while unused",
        nodes(4, 1), queue("left", guarantee={"cpu": 3}), queue("right"), gang(4, queue="right", **SINGLES),
        conf=SHARES, binds="a---",
    ),
    Case(
        "a guarantee holds whatever the weights",
        nodes(4, 1), queue("left", guarantee={"cpu": 3}), queue("right", 9),
        gang(4, name="first", queue="left", **SINGLES), gang(4, name="second", queue="right", **SINGLES), conf=SHARES,
        binds="aaa- a---",
    ),
    Case(
        "a guarantee is no ceiling",
        nodes(4, 1), queue("left", guarantee={"cpu": 3}), gang(4, queue="left", **SINGLES), conf=SHARES, binds="aaaa",
    ),
    Case(
        "a queue that has all it deserves is passed over",
        nodes(2, 1), queue("left", capability={"cpu": 1, "pods": 1}), running("a", queue="left"), gang(1, queue="left"),
        conf=SHARES, binds="-", reasons={"gang": ["queue left may have cpu 1 and has 1"]},
        codes={"gang": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "a closed queue takes nothing",
        nodes(2, 1), queue("left", state="Closed"), gang(1, queue="left"), conf=SHARES, binds="-",
        reasons={"gang": ["queue left is Closed, not Open"]}, codes={"gang": ["QueueNotOpen"]},
    ),
    Case(
        "a closing queue takes nothing more",
        nodes(2, 1), queue("left", state="Closing"), gang(1, queue="left"), conf=SHARES, binds="-",
        codes={"gang": ["QueueNotOpen"]},
    ),
    Case(
        "an open queue, explicit or by default",
        nodes(2, 1), queue("left", state="Open"), gang(1, queue="left"), conf=SHARES, binds="a",
    ),
    Case(
        "running pods of a closed queue keep running",
        nodes(2, 1), queue("left", state="Closed"), running("a", queue="left"), binds="", conf=SHARES,
        phases={"old": "Running"},
    ),
    Case(
        "a queue that does not exist",
        nodes(2, 1), gang(1, queue="nowhere"), gang(1, name="other"), conf=SHARES, binds="- a",
        reasons={"gang": ["queue 'nowhere' does not exist"]}, codes={"gang": ["QueueUnknown"]},
        phases={"gang": "Pending"},
    ),
    Case(
        "no queue named is the default queue",
        nodes(1, 1), group("gang", 1), gang(1)[1:], binds="a", conf=SHARES,
        deserved={"default": {"cpu": "1", "pods": "1"}},
    ),
    Case(
        "a large job of a small queue does not hold up the small ones behind it",
        nodes(4, 1), queue("left", capability={"cpu": 2}), gang(1, cpu=3, name="first", queue="left"),
        gang(2, name="second", queue="left"), conf=SHARES, binds="- aa",
    ),
    Case(
        "each member of a gang counts with its own size",
        node("a", 8), queue("left", capability={"cpu": 3}), gang_of(pod(2), pod(2), pod(1), minimum=2, queue="left"),
        conf=SHARES, binds="a-a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", ORDER + LIMITS, ids=str)
def test_queues(case: Case) -> None:
    case.check()
