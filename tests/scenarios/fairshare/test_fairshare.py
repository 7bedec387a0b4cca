"""Queues and users are served by what they have used in the past, in relation to their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.configuration_errors import ConfigurationError
from stromboli.core.model.reasons import Code
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.core.model.usage.queue_annotations import USER_LIMITS, USER_WEIGHTS
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from stromboli.workloads.users import USER
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import Manifest, gang, node, priority_class, queue, running

HOUR = 3600.0
ALLOCATE, RECLAIM = "enqueue, allocate, backfill", "enqueue, allocate, reclaim"


def jobs(
    number: int, of: str = "default", user: str = "", cpu: int = 1, after: int = 0, **facts: Any
) -> list[Manifest]:
    """Jobs of one pod, the first ones first; `after` is the minute of their creation."""
    notes = {USER: user} if user else {}
    return [
        each
        for index in range(number)
        for each in gang(
            1, cpu, name=f"{user or of}-{index}", queue=of, notes=notes,
            created=f"2026-03-01T12:{after:02}:{index:02}Z", **facts,
        )
    ]  # fmt: skip


@dataclass
class ShareCase:
    name: str
    world: Sequence[object]
    #: The number of pods that start, by queue, or by user where the queue has users; or that are evicted.
    started: Mapping[str, int]
    #: Processor hours of the past, by queue and user; they ended an hour ago.
    past: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)
    beside: Sequence[str] = ("proportion",)
    switches: Mapping[str, bool] = field(default_factory=dict)
    actions: str = ALLOCATE
    evicted: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def session(self, records: DecisionRecords | None = None) -> Session:
        text = configuration(
            plugin("gang", enableReclaimable=False, enablePreemptable=False),
            plugin("fairshare", self.arguments, **self.switches),
            *[PLUGINS_BESIDE.get(name, name) for name in self.beside], "predicates", actions=self.actions,
        )  # fmt: skip
        world = PlannedCluster(objects(flattened(self.world)), Program(parse_configuration(text, BUILT_IN), BUILT_IN))
        world._cluster.past_usage = self._ledger(world._now)
        return world.decide(records)

    def _ledger(self, now: float) -> UsageLedger:
        ledger = UsageLedger()
        for (of, user), amounts in self.past.items():
            request = tuple(
                (resource, amount * (1000 if resource == "cpu" else 1)) for resource, amount in amounts.items()
            )
            account = ledger.account(Account(of, "default", user, request))
            ledger.started(account, now - 2 * HOUR)
            ledger.ended(account, now - HOUR)
        return ledger


FOUR, TEN = node("a", 4), node("a", 10)
TWO = [queue("left"), queue("right")]
USERS: Mapping[str, object] = {"perUser": True}
#: Two users with four jobs each, all of the first before those of the second.
ANA_AND_BEN = [FOUR, jobs(4, user="ana"), jobs(4, user="ben", after=1)]
TREE = [
    queue("east"), queue("west"), queue("one", parent="east"), queue("two", parent="east"),
    queue("three", parent="west"),
]  # fmt: skip

QUEUES = [
    ShareCase("without usage, queues share by weight", [TEN, *TWO, jobs(10, "left"), jobs(10, "right")],
              {"left": 5, "right": 5}),
    ShareCase("a queue that used as much as its weight keeps its share",
              [TEN, *TWO, jobs(10, "left"), jobs(10, "right")], {"left": 5, "right": 5},
              past={("left", ""): {"cpu": 5}, ("right", ""): {"cpu": 5}}, arguments={"window": "2h"}),
    ShareCase("a queue that used more than its weight gets less", [TEN, *TWO, jobs(10, "left"), jobs(10, "right")],
              {"left": 3, "right": 6}, past={("left", ""): {"cpu": 10}, ("right", ""): {"cpu": 2}},
              arguments={"halfLife": "0s", "window": "2h"}),
    ShareCase("with k of 0 the past counts in the order alone", [TEN, *TWO, jobs(10, "left"), jobs(10, "right")],
              {"left": 5, "right": 5}, past={("left", ""): {"cpu": 10}}, arguments={"window": "2h", "k": 0}),
    ShareCase("a large k gives everything to the queue that used nothing",
              [TEN, *TWO, jobs(10, "left"), jobs(10, "right")], {"right": 10},
              past={("left", ""): {"cpu": 12}}, arguments={"halfLife": "0s", "window": "2h", "k": 20}),
    ShareCase("what the other queue does not want is not left idle", [TEN, *TWO, jobs(10, "left"), jobs(2, "right")],
              {"left": 8, "right": 2}, past={("left", ""): {"cpu": 10}}, arguments={"window": "2h", "k": 20}),
    ShareCase("usage before the window does not count", [TEN, *TWO, jobs(10, "left"), jobs(10, "right")],
              {"left": 5, "right": 5}, past={("left", ""): {"cpu": 10}}, arguments={"window": "30m", "k": 20}),
    ShareCase("without half-life and window usage counts in relation to that of all",
              [TEN, *TWO, jobs(10, "left"), jobs(10, "right")], {"left": 3, "right": 7},
              past={("left", ""): {"cpu": 2}, ("right", ""): {"cpu": 1}}, arguments={"halfLife": "0s", "k": 1.2}),
    ShareCase("queues are served in the order of their usage", [node("a", 3), *TWO, jobs(3, "left"), jobs(3, "right")],
              {"left": 1, "right": 2}, past={("left", ""): {"cpu": 1}}, arguments={"k": 0}, beside=[]),
    ShareCase("in relation to their weights", [node("a", 3), queue("left", 9), queue("right"), jobs(3, "left"),
              jobs(3, "right")], {"left": 3}, past={("left", ""): {"cpu": 2}, ("right", ""): {"cpu": 1}},
              arguments={"halfLife": "1h", "k": 0}, beside=[]),
    ShareCase("the largest fraction of a resource counts",
              [node("a", 1, "8Gi"), *TWO, jobs(1, "left"), jobs(1, "right")], {"right": 1},
              past={("left", ""): {"memory": 4 << 30}, ("right", ""): {"cpu": 0}}, arguments={"k": 0}, beside=[]),
    ShareCase("or the billing weights", [node("a", 1, "8Gi"), *TWO, jobs(1, "left"), jobs(1, "right")], {"left": 1},
              past={("left", ""): {"memory": 4 << 30}, ("right", ""): {"cpu": 1}}, beside=[],
              arguments={"k": 0, "billing.cpu": 1, "billing.memory": 0.1}),
    ShareCase("surplus follows the past, too", [TEN, *TWO, jobs(10, "left"), jobs(10, "right")],
              {"left": 3, "right": 7},
              past={("left", ""): {"cpu": 10}, ("right", ""): {"cpu": 2}}, arguments={"halfLife": "0s", "window": "2h"},
              beside=["surplus"], switches={"enableQueueOrder": False}),
    ShareCase("without a hierarchy the usage of the cluster counts, also in a tree",
              [TEN, queue("top"), queue("left", parent="top"), queue("right"), jobs(10, "left"), jobs(10, "right")],
              {"left": 5, "right": 5},
              past={("left", ""): {"cpu": 6}, ("right", ""): {"cpu": 6}},
              arguments={"halfLife": "0s", "window": "2h"},
              beside=["flat surplus"], switches={"enableQueueOrder": False}),
    ShareCase("in the order of usage it goes to the queue that used less", [TEN, *TWO, jobs(10, "left"),
              jobs(10, "right")], {"right": 10}, past={("left", ""): {"cpu": 10}, ("right", ""): {"cpu": 2}},
              arguments={"halfLife": "0s", "window": "2h"}, beside=["surplus"]),
    ShareCase("a tree is ordered from the top", [node("a", 2), *TREE, jobs(2, "one"), jobs(2, "two"), jobs(2, "three")],
              {"three": 2}, past={("one", ""): {"cpu": 2}}, arguments={"halfLife": "1h", "k": 0}, beside=["tree"]),
    ShareCase("and then within a branch", [node("a", 2), *TREE, jobs(2, "one"), jobs(2, "two")],
              {"two": 2}, past={("one", ""): {"cpu": 2}}, arguments={"halfLife": "1h", "k": 0}, beside=["tree"]),
    ShareCase("the queue with the largest usage loses first",
              [node("a", 4), queue("left"), queue("right"), queue("poor", 2), jobs(1, "poor"),
               [running("aa", name=name, queue=name, minimum=1) for name in ("left", "right")]],
              {}, past={("right", ""): {"cpu": 4}}, arguments={"k": 0}, actions=RECLAIM, evicted={"right": 1}),
    ShareCase("and the queue that used less reclaims more than its weight",
              [node("a", 4), *TWO, jobs(4, "right"), running("aaaa", name="left", queue="left")],
              {}, past={("left", ""): {"cpu": 6}}, arguments={"halfLife": "0s", "window": "2h", "k": 20},
              actions=RECLAIM, evicted={"left": 4}),
]  # fmt: skip

OF_USERS = [
    ShareCase("the first user gets all without perUser", ANA_AND_BEN, {"ana": 4}),
    ShareCase("two users of a queue get two places each, also without past usage", ANA_AND_BEN, {"ana": 2, "ben": 2},
              arguments=USERS),
    ShareCase("a user who used more gets less", ANA_AND_BEN, {"ben": 4}, past={("default", "ana"): {"cpu": 4}},
              arguments={**USERS, "halfLife": "1h"}),
    ShareCase("weights of users", [*ANA_AND_BEN, queue("default", annotations={USER_WEIGHTS: "ana=3, ben=1"})],
              {"ana": 3, "ben": 1}, arguments=USERS),
    ShareCase("users of weight 0 come last, whatever others have used",
              [*ANA_AND_BEN, queue("default", annotations={USER_WEIGHTS: "ana=0"})], {"ben": 4},
              past={("default", "ben"): {"cpu": 40}}, arguments=USERS),
    ShareCase("but get what others leave", [FOUR, jobs(4, user="ana"), jobs(1, user="ben", after=1),
              queue("default", annotations={USER_WEIGHTS: "ana=0"})], {"ana": 3, "ben": 1}, arguments=USERS),
    ShareCase("among themselves in the order of their jobs",
              [*ANA_AND_BEN, queue("default", annotations={USER_WEIGHTS: "ana=0,ben=0"})], {"ana": 4},
              past={("default", "ana"): {"cpu": 40}}, arguments=USERS),
    ShareCase("what a user holds counts",
              [node("a", 6), running("aa", name="held", notes={USER: "ana"}, queue="default"), jobs(4, user="ana"),
               jobs(4, user="ben", after=1)], {"ana": 1, "ben": 3}, arguments=USERS),
    ShareCase("jobs of unknown users share as one user", [FOUR, jobs(4), jobs(4, user="ben", after=1)],
              {"default": 2, "ben": 2}, arguments=USERS),
    ShareCase("large jobs count as much as they request",
              [node("a", 8), jobs(2, user="ana", cpu=4), jobs(8, user="ben", after=1)], {"ana": 1, "ben": 4},
              arguments=USERS),
    ShareCase("users of one queue do not count in another", [FOUR, queue("other"), jobs(4, user="ana"),
              jobs(4, user="ben", after=1)], {"ana": 2, "ben": 2}, past={("other", "ana"): {"cpu": 4}},
              arguments=USERS),
]  # fmt: skip

PREEMPT, EVICTING = {**USERS, "preemptUsers": True}, "enqueue, allocate, preempt"


def held(places: str, user: str, name: str = "held", **facts: Any) -> list[Manifest]:
    """A job of a user that runs, of one pod or an elastic one."""
    return running(places, name=name, notes={USER: user}, queue="default", **facts)


def held_alone(number: int, user: str, **facts: Any) -> list[list[Manifest]]:
    return [held("a", user, f"{user}-old-{index}", minimum=1, **facts) for index in range(number)]


FULL = [FOUR, held_alone(4, "ana"), jobs(4, user="ben", after=1)]
PREEMPTED = [
    ShareCase("users evict nothing without preemptUsers", FULL, {}, arguments=USERS, actions=EVICTING),
    ShareCase("a user who filled the queue gives way to another up to a fair part", FULL, {}, arguments=PREEMPT,
              actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("also after a heavy past of the user who filled it", FULL, {}, past={("default", "ana"): {"cpu": 4}},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("but not to a user who used more in the past", FULL, {}, past={("default", "ben"): {"cpu": 40}},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("nothing happens at equal parts",
              [FOUR, held_alone(2, "ana"), held_alone(2, "ben"), jobs(2, user="ana"), jobs(2, user="ben")], {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("an odd place stays where it is",
              [node("a", 5), held_alone(3, "ana"), held_alone(2, "ben"), jobs(2, user="ben")], {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("three users: those beyond their part give way, others do not",
              [node("a", 6), held_alone(4, "ana"), held_alone(2, "ben"), jobs(4, user="eve")], {},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("no user exceeds the fair part by evictions, also while another cannot use theirs",
              [node("a", 9), held_alone(6, "ana"), held_alone(3, "ben"), jobs(1, user="ben"),
               jobs(1, user="eve", cpu=20)], {}, arguments=PREEMPT, actions=EVICTING),
    ShareCase("a user who is refused does not stand for another with equal pods",
              [node("a", 6), held_alone(4, "ana"), held_alone(2, "ben"), jobs(1, user="ben"), jobs(2, user="eve")], {},
              past={("default", "ana"): {"cpu": 400}, ("default", "eve"): {"cpu": 40}},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("what a user does not want is shared by the others",
              [node("a", 6), held_alone(5, "ana"), held_alone(1, "ben"), jobs(4, user="eve")], {},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("parts follow the weights of users",
              [*FULL, queue("default", annotations={USER_WEIGHTS: "ana=3,ben=1"})], {},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 1}),
    ShareCase("users of weight 0 give way altogether",
              [*FULL, queue("default", annotations={USER_WEIGHTS: "ana=0"})], {},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 4}),
    ShareCase("and preempt no user", [*FULL, queue("default", annotations={USER_WEIGHTS: "ben=0"})], {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("nor each other", [*FULL, queue("default", annotations={USER_WEIGHTS: "ana=0,ben=0"})], {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("jobs of higher priority do not give way",
              [priority_class("high", 100), FOUR, held_alone(4, "ana", priority="high"), jobs(4, user="ben", after=1)],
              {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("nor do pods that may not be preempted",
              [FOUR, held_alone(4, "ana", labels={"volcano.sh/preemptable": "false"}), jobs(4, user="ben", after=1)],
              {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("a gang is not evicted if its user would have less than a fair part",
              [FOUR, held("aaaa", "ana", minimum=4), jobs(4, user="ben", after=1)], {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("but one of two gangs is",
              [FOUR, held("aa", "ana", "ana-old-0", minimum=2), held("aa", "ana", "ana-old-1", minimum=2),
               jobs(2, user="ben", after=1)], {}, arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("and spare members of an elastic job",
              [FOUR, held("aaaa", "ana", minimum=1), jobs(4, user="ben", after=1)], {},
              arguments=PREEMPT, actions=EVICTING, evicted={"held": 2}),
    ShareCase("a gang that exceeds the part of its user gets nothing",
              [FOUR, held_alone(4, "ana"), gang(3, name="ben-0", queue="default", notes={USER: "ben"})], {},
              arguments=PREEMPT, actions=EVICTING),
    ShareCase("a gang within the part of its user gets all of it",
              [FOUR, held_alone(4, "ana"), gang(2, name="ben-0", queue="default", notes={USER: "ben"})], {},
              arguments=PREEMPT, actions=EVICTING, evicted={"ana-old": 2}),
    ShareCase("users of another queue have no part in it",
              [FOUR, queue("other"), held_alone(4, "ana"), jobs(4, "other", user="ben", after=1)], {},
              arguments=PREEMPT, actions=EVICTING),
]  # fmt: skip

LIMITED = {"limitUsers": True}


def limits(text: str) -> Manifest:
    return queue("default", annotations={USER_LIMITS: text})


EIGHT = [node("a", 8), jobs(4, user="ana"), jobs(4, user="ben", after=1)]
LIMITS = [
    ShareCase("without limitUsers the annotation has no effect", [*EIGHT, limits("*: cpu=1")], {"ana": 4, "ben": 4}),
    ShareCase("a limit of one user", [*EIGHT, limits("ana: cpu=3")], {"ana": 3, "ben": 4}, arguments=LIMITED),
    ShareCase("a limit of each user", [*EIGHT, limits("*: cpu=1500m")], {"ana": 1, "ben": 1}, arguments=LIMITED),
    ShareCase("the limit of a user precedes that of each", [*EIGHT, limits("*: cpu=1; ben: cpu=2")],
              {"ana": 1, "ben": 2}, arguments=LIMITED),
    ShareCase("a group shares its limit", [*EIGHT, limits("@lab: cpu=5")], {"ana": 4, "ben": 1},
              arguments={**LIMITED, "group.lab": "ana, ben"}),
    ShareCase("a user has the limits of all groups", [*EIGHT, limits("@lab: cpu=5; @new: cpu=2")],
              {"ana": 2, "ben": 3}, arguments={**LIMITED, "group.lab": "ana,ben", "group.new": "ana"}),
    ShareCase("what a user holds counts against it",
              [*EIGHT, running("aa", name="held", notes={USER: "ana"}, queue="default"), limits("ana: cpu=3")],
              {"ana": 1, "ben": 4}, arguments=LIMITED),
    ShareCase("another queue has no part in it", [*EIGHT, queue("other", annotations={USER_LIMITS: "*: cpu=1"})],
              {"ana": 4, "ben": 4}, arguments=LIMITED),
    ShareCase("a limit in an ancestor counts what users hold in all queues below it",
              [node("a", 10), TREE[1:], queue("east", annotations={USER_LIMITS: "*: cpu=3"}),
               running("aa", name="held", notes={USER: "ana"}, queue="two"), jobs(4, "one", user="ana"),
               jobs(4, "one", user="eve"), jobs(4, "three", user="ben")],
              {"ana": 1, "eve": 3, "ben": 4}, arguments=LIMITED),
    ShareCase("of the limits of a queue and its ancestors the smallest counts",
              [node("a", 10), TREE[1:4], queue("root", annotations={USER_LIMITS: "*: cpu=3"}),
               queue("three", parent="west", annotations={USER_LIMITS: "*: cpu=4; ben: cpu=2"}),
               queue("east"), jobs(4, "one", user="ana"), jobs(4, "three", user="ben")],
              {"ana": 3, "ben": 2}, arguments=LIMITED),
    ShareCase("jobs of unknown users are not limited", [node("a", 8), jobs(4), limits("*: cpu=1")], {"default": 4},
              arguments=LIMITED),
    ShareCase("an unknown resource limits nothing", [*EIGHT, limits("*: example.com/thing=0")], {"ana": 4, "ben": 4},
              arguments=LIMITED),
]  # fmt: skip

PLUGINS_BESIDE = {
    "flat surplus": plugin("capacity", {"shareSurplus": True}),
    "surplus": plugin("capacity", {"shareSurplus": True}, enableHierarchy=True),
    "tree": plugin("capacity", enableHierarchy=True),
}


def owner(key: str) -> str:
    return key.partition("/")[2].rpartition("-")[0] or key.partition("/")[2]


@pytest.mark.parametrize("case", [*QUEUES, *OF_USERS, *PREEMPTED, *LIMITS], ids=str)
def test_fairshare(case: ShareCase) -> None:
    decisions = case.session().decisions
    bound = Counter(owner(placement.job) for statement in decisions.binds for placement in statement)
    assert dict(bound) == case.started
    assert dict(Counter(owner(eviction.task.job) for eviction in decisions.evictions)) == case.evicted


@dataclass(frozen=True)
class TreeCase:
    """Processor hours of leaves, their parents, and weights; the level fairshare of Slurm is weight / usage."""

    name: str
    used: Mapping[str, int]
    #: Names of queues, the first to be served first. Queues of equal rank are in the order of their names.
    order: str
    weights: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def queues(self) -> list[Manifest]:
        parents = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}
        return [
            queue(name, self.weights.get(name, 1), parent=parents.get(name)) for name in ("a", "b", *parents)
        ]  # fmt: skip


TREES = [
    TreeCase("without usage all are equal", {}, "a1 a2 b1 b2"),
    TreeCase("the account with the larger level fairshare comes first, with all of its children",
             {"a1": 6, "b1": 3, "b2": 2}, "b2 b1 a2 a1"),
    TreeCase("a child of it that used most precedes a sibling account's child that used nothing",
             {"a1": 7, "b1": 6}, "b2 b1 a2 a1"),
    TreeCase("usage counts in relation to shares on each level", {"a1": 4, "a2": 2, "b1": 3}, "a1 a2 b2 b1",
             {"a": 3, "a1": 3}),
    TreeCase("accounts without usage come first", {"b1": 1}, "a1 a2 b2 b1"),
    TreeCase("children of equal accounts are ranked as siblings", {"a1": 4, "a2": 1, "b1": 3, "b2": 2},
             "a2 b2 b1 a1"),
    TreeCase("their usage counts as a part of that of siblings: 4/6 and 2/6, 2/3 and 1/3",
             {"a1": 4, "a2": 2, "b1": 2, "b2": 1}, "a2 b2 a1 b1", {"a": 2}),
    TreeCase("a child with a smaller part precedes one with less usage", {"a1": 10, "a2": 2, "b1": 3, "b2": 3},
             "a2 b1 b2 a1", {"a": 2}),
    TreeCase("their weights count as parts of those of their own siblings: 3/4, 1/4, 1/2 and 1/2 with equal usage",
             {"a1": 2, "a2": 2, "b1": 2, "b2": 2}, "a1 b1 b2 a2", {"a1": 3}),
    TreeCase("equal multiples of the weights of siblings change nothing", {"a1": 3, "a2": 1, "b1": 2, "b2": 2},
             "a2 b1 b2 a1", {"b1": 5, "b2": 5}),
    TreeCase("children of parents that differ are not merged", {"a1": 10, "a2": 2, "b1": 4, "b2": 3}, "a2 a1 b2 b1",
             {"a": 2}),
    TreeCase("also if all are equal", {"a1": 2, "a2": 3, "b1": 2, "b2": 3}, "a1 b1 a2 b2"),
]  # fmt: skip


@pytest.mark.parametrize("case", TREES, ids=str)
def test_rank_of_queues_is_that_of_a_fair_tree(case: TreeCase) -> None:
    past = {(name, ""): {"cpu": hours} for name, hours in case.used.items()}
    session = ShareCase(
        "", [TEN, case.queues()], {}, past=past, arguments={"halfLife": "1h"}, beside=["tree"]
    ).session()
    leaves = [each for each in session.queues.values() if each.name in ("a1", "a2", "b1", "b2")]
    assert " ".join(each.name for each in sorted(leaves, key=session.queue_order_key)) == case.order


def test_eviction_for_another_user_is_explained() -> None:
    records = DecisionRecords()
    ShareCase("", FULL, {}, arguments=PREEMPT, actions=EVICTING).session(records)
    decisive = [each for record in records.evictions.values() for each in record.allowed_by if each.is_decisive]
    assert {(each.plugin, each.right) for each in decisive} == {
        ("fairshare", "user ana holds more than a fair part of queue default, and user ben less")
    }


@pytest.mark.parametrize(
    ("world", "detail"),
    [
        ([FOUR, held_alone(4, "ben"), jobs(2, user="ben")], "it is of the same user ben"),
        (
            [FOUR, held_alone(2, "ana"), jobs(4, user="ben"), held_alone(2, "ben")],
            "without it, user ana would hold less than a fair part of queue default, or less than user ben with the "
            "new pod",
        ),
        (
            [priority_class("high", 100), FOUR, held_alone(4, "ana", priority="high"), jobs(2, user="ben")],
            "priority 100 is above 0",
        ),
    ],
)
def test_user_who_may_not_preempt_gets_a_reason(world: Sequence[object], detail: str) -> None:
    session = ShareCase("", world, {}, arguments=PREEMPT, actions=EVICTING).session()
    reasons = " ".join(session.statuses["default/ben-1"].sentences)
    assert detail in reasons


def test_preempting_users_who_do_not_share_the_queue_are_reported() -> None:
    session = ShareCase("", FULL, {}, arguments={"preemptUsers": True}, actions=EVICTING).session()
    assert session.warnings == ["plugin fairshare: preemptUsers has no effect without perUser"]


def test_plugin_that_divides_before_is_reported() -> None:
    text = configuration("gang", "proportion", "fairshare", "predicates", actions=ALLOCATE)
    program = Program(parse_configuration(text, BUILT_IN), BUILT_IN)
    session = PlannedCluster(objects(flattened([FOUR, jobs(1)])), program).decide()
    assert session.warnings == [
        "plugin fairshare is listed after proportion, so past usage does not change what queues deserve; "
        "list it before proportion"
    ]


@pytest.mark.parametrize("weights", ["ana", "ana=much", "ana=-1", "ana=nan", "=3"])
def test_invalid_weight_of_a_user_is_reported(weights: str) -> None:
    world = [*ANA_AND_BEN, queue("default", annotations={USER_WEIGHTS: weights})]
    session = ShareCase("", world, {}, arguments=USERS).session()
    assert session.warnings == [
        f"Queue default: annotation {USER_WEIGHTS}: expected user=weight with a weight of at least 0, got {weights!r}; "
        f"it is ignored"
    ]


@pytest.mark.parametrize(
    ("key", "value"), [("halfLife", "soon"), ("window", "1w"), ("windowForm", "round"), ("k", -1), ("billing.cpu", -1)]
)
def test_invalid_argument_is_rejected(key: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=key):
        parse_configuration(configuration(plugin("fairshare", {key: value})), BUILT_IN)


def test_job_that_waits_for_a_limit_reports_it() -> None:
    session = ShareCase("", [*EIGHT, limits("ana: cpu=3")], {}, arguments=LIMITED).session()
    status = session.statuses["default/ana-3"]
    assert [reason.code for reason in status.reasons] == [Code.USER_LIMIT]
    assert status.sentences[0].endswith("user ana may hold cpu 3 in queue default, and has 3")


@pytest.mark.parametrize(
    ("text", "error"),
    [("ana", "expected resource=amount, got ''"), ("ana: cpu=much", '"much" is not a quantity')],
)
def test_invalid_limit_is_reported(text: str, error: str) -> None:
    session = ShareCase("", [*EIGHT, limits(text)], {}, arguments=LIMITED).session()
    (warning,) = session.warnings
    assert warning.startswith(f"Queue default: annotation {USER_LIMITS}: ana: {error}")
    assert warning.endswith("; the limit is ignored")
