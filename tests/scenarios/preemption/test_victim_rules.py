"""Which pods may be evicted for which preemptor. Small actions evaluate the plugins and evict what they allow."""

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import gang, gang_of, nodes, pod, priority_class, queue, running

HIGH = priority_class("high", 100)
#: A pending pod as preemptor.
PREEMPTOR = gang(1, name="preemptor", priority="high")


def victims(name: str, *world: object, of: str, by: object, evicts: list[str], binds: str = "-") -> Case:
    """Victims when the action `of` evaluates the plugins `by`."""
    plugins = by if isinstance(by, tuple) else (by,)
    conf = configuration(*plugins, actions=of)
    return Case(
        name, nodes(1, 3), HIGH, world, PREEMPTOR, conf=conf, evicts=evicts, binds=binds, extensions=PROBE_ACTIONS
    )


PREEMPT, RECLAIM = "evict-preemptable", "evict-reclaimable"
FOR_PREEMPT, FOR_RECLAIM = "evict-for-preemption", "evict-for-reclaim"
SYSTEM = [
    running("a", name="system", namespace="kube-system"),
    running("b", name="vital", priorityClassName="system-node-critical"),
    running("c", name="central", priorityClassName="system-cluster-critical"),
    running("a", name="usual"),
]

CONFORMANCE = [
    victims(f"critical pods are protected: {action}", SYSTEM, of=action, by="conformance",
            evicts=["usual-task-0"])
    for action in (PREEMPT, RECLAIM, FOR_PREEMPT, FOR_RECLAIM)
]  # fmt: skip

GANG = [
    victims("a gang keeps its minimum", running("abc", minimum=2), of=PREEMPT, by="gang", evicts=["old-task-0"]),
    victims("a gang at its minimum loses no member", running("ab", minimum=2), of=RECLAIM, by="gang", evicts=[]),
    victims(
        "without a minimum every member may be evicted",
        running("ab"), of=PREEMPT, by="gang", evicts=["old-task-0", "old-task-1"],
    ),
    victims(
        "a whole job may preempt a whole gang",
        running("ab", minimum=2), of=FOR_PREEMPT, by="gang", evicts=["old-task-0", "old-task-1"],
    ),
    victims(
        "a gang below its minimum starves",
        running("a"), of="evict-for-starving", by="gang", evicts=["old-task-0"],
    ),
    victims(
        "a gang that has its minimum does not",
        running("b"), gang_of(pod(nodeName="a"), pod(), minimum=1, name="a"), of="evict-for-starving", by="gang",
        evicts=[], binds="--",
    ),
    victims(
        "by priority it does, as long as a pod waits",
        running("b"), gang_of(pod(nodeName="a"), pod(), minimum=1, name="a"), of="evict-for-starving", by="priority",
        evicts=["a-task-0", "old-task-0"], binds="--",
    ),
]  # fmt: skip

PRIORITY = [
    victims("a less important pod is evicted", running("a"), of=PREEMPT, by="priority", evicts=["old-task-0"]),
    victims("an equally important gang stays", running("a", priority="high"), of=PREEMPT, by="priority", evicts=[]),
    victims(
        "for a whole job, too",
        running("a", name="equal", priority="high"), running("b"), of=FOR_PREEMPT, by="priority", evicts=["old-task-0"],
    ),
    victims(
        "another queue's importance does not matter",
        running("a", name="equal", priority="high"), running("b"), of=FOR_RECLAIM, by="priority",
        evicts=["equal-task-0", "old-task-0"],
    ),
    victims(
        "within a job the members' own priorities count",
        gang_of(
            pod(nodeName="a"), pod(nodeName="b", priorityClassName="high"), pod(priorityClassName="high"), minimum=0,
            name="a", phase="Running",
        ),
        of=PREEMPT, by="priority", evicts=["a-task-0"], binds="--",
    ),
    victims(
        "the least important job loses first",
        running("a", name="important", priority="high"), running("b"), of="evict-first", by="priority",
        evicts=["old-task-0"],
    ),
    victims(
        "of one job the last member loses first",
        running("abc"), of="evict-first", by="priority", evicts=["old-task-2"],
    ),
    victims(
        "of one job the least important member loses first",
        gang_of(pod(nodeName="a"), pod(nodeName="b", priorityClassName="high"), minimum=0, name="old"),
        of="evict-first", by="priority", evicts=["old-task-0"],
    ),
]  # fmt: skip

SHARES = [
    victims(
        "a job that would keep the larger share may lose one",
        running("aab"), of=PREEMPT, by="drf", evicts=["old-task-0", "old-task-1"],
    ),
    victims("a job with the same share keeps its pods", running("a"), of=PREEMPT, by="drf", evicts=[]),
    victims(
        "a queue gives what it has above its share",
        queue("rich"), running("abc", queue="rich"), of=RECLAIM, by="proportion", evicts=["old-task-0"],
    ),
    victims(
        "a queue within its share does not",
        queue("rich", 9), running("a", queue="rich"), of=RECLAIM, by="proportion", evicts=[],
    ),
    victims(
        "a queue below its limit may reclaim",
        running("a"), of="evict-for-queue", by="proportion", evicts=["old-task-0"],
    ),
    victims("a queue that may not grow may not", running("abc"), of="evict-for-queue", by="proportion", evicts=[]),
    victims(
        "in a tree the greater subtree gives",
        queue("rich", annotations={"volcano.sh/hierarchy": "root/rich"}), running("abc", queue="rich"), of=RECLAIM,
        by=plugin("drf", enableHierarchy=True), evicts=["old-task-0", "old-task-1", "old-task-2"],
    ),
    victims(
        "in a hierarchy a job that would have the same share keeps its pods",
        queue("rich"), queue("other"), running("ab", queue="rich"), running("c", name="equal", queue="other"),
        of=RECLAIM, by=plugin("drf", enableHierarchy=True), evicts=[],
    ),
    victims(
        "all voting plugins must agree",
        running("aab", minimum=2), running("c", name="equal", priority="high"), of=PREEMPT, by=("priority", "gang"),
        evicts=["old-task-0"],
    ),
    victims(
        "the first tier with victims decides",
        running("aab", minimum=2), of=PREEMPT, by=(["gang"], ["drf"]), evicts=["old-task-0"],
    ),
    victims(
        "a tier without victims hands on",
        running("aab", minimum=3), of=PREEMPT, by=(["gang"], ["drf"]), evicts=["old-task-0", "old-task-1"],
    ),
    victims("without a plugin nothing is evicted", running("aab"), of=PREEMPT, by="predicates", evicts=[]),
]  # fmt: skip


@pytest.mark.parametrize("case", CONFORMANCE + GANG + PRIORITY + SHARES, ids=str)
def test_victim_rules(case: Case) -> None:
    case.check()
