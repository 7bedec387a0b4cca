"""Higher-priority jobs preempt within their queue: the victims, the protected pods, and when nothing is evicted."""

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import (
    Manifest,
    gang,
    gang_of,
    manifest,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

HIGH, MIDDLE, LOW = priority_class("high", 100), priority_class("middle", 50), priority_class("low", 10)
CLASSES = [HIGH, MIDDLE, LOW]
ACTIONS = "enqueue, allocate, preempt"
#: Gangs may be evicted, but only whole.
PREEMPT = configuration(
    "priority", plugin("gang", enablePreemptable=False), "conformance", "predicates", actions=ACTIONS
)
#: Gangs keep their minimum.
KEEPING = configuration("priority", "gang", "conformance", "predicates", actions=ACTIONS)
YOUNG, OLD = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def preempts(name: str, *world: object, evicts: list[str], binds: str, conf: str = PREEMPT, **more: Any) -> Case:
    return Case(name, CLASSES, world, conf=conf, evicts=evicts, binds=binds, **more)


def low(places: str, name: str = "low", **facts: Any) -> list[Manifest]:
    return running(places, name=name, priority="low", **facts)


def high(count: int = 1, cpu: object = 1, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name="high", priority="high", **facts)


def created(manifests: list[Manifest], when: str) -> list[Manifest]:
    """The same pods, created at this time."""
    for each in manifests:
        if each["kind"] == "Pod":
            each["metadata"]["creationTimestamp"] = when
    return manifests


def budget(name: str, labels: dict[str, str], **spec: Any) -> Manifest:
    fields = {"selector": {"matchLabels": labels}, **spec}
    return manifest("PodDisruptionBudget", name, "policy/v1", "default", spec=fields)


#: Backfill comes last, as in the usual order of actions.
SLOTS = configuration(
    "priority", plugin("gang", enablePreemptable=False), "conformance", "predicates", actions=ACTIONS + ", backfill"
)

WITHOUT_REQUESTS = [
    preempts(
        "a pod without a request preempts one without a request for its slot",
        nodes(4, 1, pods=1), low("a", cpu=0), high(cpu=0), evicts=["low-task-0"], binds="A", conf=SLOTS,
    ),
    preempts(
        "also if backfill comes first",
        nodes(4, 1, pods=1), low("a", cpu=0), high(cpu=0), evicts=["low-task-0"], binds="A",
        conf=configuration("priority", "conformance", "predicates", actions="enqueue, allocate, backfill, preempt"),
    ),
    preempts(
        "it preempts no pod with a request",
        nodes(4, 1, pods=1), low("a", cpu=1), high(cpu=0), evicts=[], binds="-", conf=SLOTS,
        reasons={"high": [
            "0/1 nodes are available: 1 Too many pods.",
            "preempt: none of 1 running pod may be evicted: without-request protects 1 (default/low-task-0: it has a "
            "request, and the preemptor has none)",
        ]},
    ),
    preempts(
        "of both, the pod without a request",
        nodes(4, 1, pods=2), created(low("a", cpu=1), YOUNG), created(low("a", cpu=0, name="idle"), OLD),
        high(cpu=0), evicts=["idle-task-0"], binds="A", conf=SLOTS,
    ),
    preempts(
        "nor an equally important one",
        nodes(4, 1, pods=1), running("a", cpu=0, priority="high"), high(cpu=0), evicts=[], binds="-", conf=SLOTS,
    ),
    preempts(
        "nothing is evicted where a slot is free",
        nodes(4, 2, pods=1), low("a", cpu=0), high(cpu=0), evicts=[], binds="b", conf=SLOTS,
    ),
    preempts(
        "nothing is evicted while a victim is terminating",
        nodes(4, 2, pods=1), low("a", cpu=0, releasing=True), low("b", name="other", cpu=0),
        gang_of(pod(0, nominated="a"), name="high", priority="high"), evicts=[], binds="A", conf=SLOTS,
    ),
    preempts(
        "the slot is kept for it",
        nodes(4, 1, pods=1), gang(1, cpu=1, name="middle", priority="middle"),
        gang_of(pod(0, nominated="a"), name="high", priority="high"), evicts=[], binds="- a", conf=SLOTS,
    ),
    preempts(
        "as many as slots are needed",
        nodes(4, 1, pods=3), low("aaa", cpu=0), high(2, cpu=0), evicts=["low-task-1", "low-task-2"], binds="AA",
        conf=SLOTS,
    ),
    preempts(
        "a gang of both kinds gets capacity and slots",
        nodes(1, 1, pods=2), low("a", cpu=1), low("a", cpu=0, name="idle"),
        gang_of(pod(1), pod(0), name="high", priority="high"), evicts=["idle-task-0", "low-task-0"], binds="AA",
        conf=SLOTS,
    ),
    preempts(
        "a member replaces a less important one of its job",
        nodes(4, 1, pods=1), gang_of(pod(0, nodeName="a", priorityClassName="low"), pod(0, priorityClassName="high"),
                                     name="both", minimum=2, phase="Running"), evicts=["both-task-0"], binds="A",
        conf=SLOTS,
    ),
]  # fmt: skip

BETWEEN_JOBS = [
    preempts("a less important pod is evicted", nodes(1, 1), low("a"), high(), evicts=["low-task-0"], binds="A"),
    preempts(
        "an equally important gang stays",
        nodes(1, 1), running("a", name="equal", priority="high"), high(), evicts=[], binds="-",
        codes={"high": ["InsufficientResource", "NoPreemptablePods"]},
    ),
    preempts(
        "a free node is taken before any eviction",
        nodes(1, 2), low("a"), high(), evicts=[], binds="b",
    ),
    preempts("no more are evicted than needed", nodes(3, 1), low("aaa"), high(cpu=2),
             evicts=["low-task-1", "low-task-2"],
             binds="A"),
    preempts(
        "one large pod is evicted rather than two small ones",
        nodes(4, 1), low("aa", name="small"), low("a", cpu=2, name="large"), high(cpu=2),
        evicts=["large-task-0"], binds="A",
    ),
    preempts(
        "the least important pod is evicted, on any node",
        nodes(1, 3), running("a", name="middle", priority="middle"), low("b"),
        running("c", name="other", priority="middle"), high(), evicts=["low-task-0"], binds="B",
    ),
    preempts(
        "two less important pods are evicted rather than a more important one",
        nodes(2, 2), running("a", cpu=2, name="middle", priority="middle"), low("bb"), high(cpu=2),
        evicts=["low-task-0", "low-task-1"], binds="B",
    ),
    preempts(
        "the node with the fewest victims is taken",
        nodes(2, 2), low("aa", name="many"), low("b", cpu=2, name="one"), high(cpu=2),
        evicts=["one-task-0"], binds="B",
    ),
    preempts(
        "the youngest work is lost",
        nodes(1, 2), created(low("a", name="aged"), OLD), created(low("b", name="young"), YOUNG), high(),
        evicts=["young-task-0"], binds="B",
    ),
    preempts(
        "what is free beside the victims counts",
        nodes(3, 1), low("a", cpu=2), high(cpu=3), evicts=["low-task-0"], binds="A",
    ),
    preempts(
        "two resources may need two victims",
        node("a", 2, "2Gi"), low("a", cpu=2, memory="0", name="cpu"), low("a", cpu=0, memory="2Gi", name="memory"),
        high(cpu=1, memory="1Gi"), evicts=["cpu-task-0", "memory-task-0"], binds="A",
    ),
    preempts(
        "a pod slot counts as capacity, too",
        nodes(4, 1, pods=1), low("a"), high(), evicts=["low-task-0"], binds="A",
    ),
    preempts(
        "jobs are served in their order",
        nodes(1, 1), low("a"), gang(1, name="middle", priority="middle"), high(),
        evicts=["low-task-0"], binds="- A",
    ),
    preempts(
        "each preemptor finds its own victim",
        nodes(1, 2), low("ab"), gang(1, name="one", priority="high"), gang(1, name="two", priority="high"),
        evicts=["low-task-0", "low-task-1"], binds="B A",
    ),
    preempts(
        "a preemptor's capacity is not taken by the next one",
        nodes(1, 1), low("a"), gang(1, name="first", priority="middle"), high(), evicts=["low-task-0"], binds="- A",
    ),
    preempts(
        "nothing is evicted in another queue",
        nodes(1, 1), queue("other"), low("a", queue="other"), high(), evicts=[], binds="-",
    ),
    preempts(
        "a pod of a less important job may be important itself",
        nodes(1, 1), low("a", priorityClassName="high"), high(), evicts=[], binds="-",
    ),
]  # fmt: skip

GANGS = [
    preempts(
        "a gang gets all its capacity, or nothing is evicted",
        nodes(1, 2), low("a"), running("b", name="equal", priority="high"), high(2), evicts=[], binds="--",
    ),
    preempts(
        "a gang gets all its capacity",
        nodes(1, 2), low("ab"), high(2), evicts=["low-task-0", "low-task-1"], binds="BA",
    ),
    preempts(
        "a gang whose members serve both tasks is evicted instead of four jobs",
        nodes(2, 5), [running("ab"[number // 2], name=f"s{number}", minimum=1, priority="low") for number in range(4)],
        running("cde", 2, name="wide", minimum=3, priority="low"), high(2, cpu=2),
        evicts=["wide-task-0", "wide-task-1", "wide-task-2"], binds="ED",
    ),
    preempts(
        "what is free is held for the gang that also needs victims",
        nodes(1, 2), low("b"), high(2), evicts=["low-task-0"], binds="AB",
    ),
    preempts(
        "a gang preempts for its minimum only",
        nodes(1, 3), low("abc"), high(3, minimum=2), evicts=["low-task-1", "low-task-2"], binds="CB-",
    ),
    preempts(
        "a gang above its minimum gives what it can spare",
        nodes(1, 3), low("abc", minimum=2), high(), evicts=["low-task-2"], binds="C",
    ),
    preempts(
        "a gang at its minimum is evicted whole",
        nodes(1, 2), low("ab", minimum=2), high(), evicts=["low-task-0", "low-task-1"], binds="B",
    ),
    preempts(
        "a single pod is evicted rather than a whole gang",
        nodes(1, 3), low("ab", minimum=2), low("c", name="single"), high(), evicts=["single-task-0"], binds="C",
    ),
    preempts(
        "the smaller gang is evicted",
        nodes(1, 5), low("abc", minimum=3, name="three"), low("de", minimum=2, name="two"), high(),
        evicts=["two-task-0", "two-task-1"], binds="E",
    ),
    preempts(
        "a gang with a protected member is not evicted",
        nodes(1, 2),
        gang_of(pod(nodeName="a", labels={"volcano.sh/preemptable": "false"}), pod(nodeName="b"), name="low",
                priority="low", phase="Running"),
        high(), evicts=[], binds="-", codes={"high": ["InsufficientResource", "PreemptionInsufficient"]},
    ),
    preempts(
        "where the gang plugin answers, a gang keeps its minimum",
        nodes(1, 2), low("ab", minimum=2), high(), conf=KEEPING, evicts=[], binds="-",
        codes={"high": ["InsufficientResource", "NoPreemptablePods"]},
    ),
    preempts(
        "where the gang plugin answers, members above the minimum are evicted",
        nodes(1, 2), low("ab", minimum=1), high(), conf=KEEPING, evicts=["low-task-1"], binds="B",
    ),
    preempts(
        "roles keep their minimum",
        nodes(1, 3),
        gang_of(pod(role="master", nodeName="a"), pod(role="worker", nodeName="b"), pod(role="worker", nodeName="c"),
                name="low", priority="low", minimum=2, minimums={"master": 1, "worker": 1}, phase="Running"),
        high(), evicts=["low-worker-2"], binds="C",
    ),
    preempts(
        "a gang whose members went for others is whole or gone",
        nodes(1, 4), low("abcd", minimum=2), high(3),
        evicts=["low-task-0", "low-task-1", "low-task-2", "low-task-3"], binds="DCB",
    ),
]  # fmt: skip

PROTECTED = [
    preempts(
        "a pod that is not preemptable stays",
        nodes(1, 1), low("a", labels={"volcano.sh/preemptable": "false"}), high(), evicts=[], binds="-",
        codes={"high": ["InsufficientResource", "NoPreemptablePods"]},
    ),
    preempts(
        "critical pods stay",
        nodes(1, 1), low("a", priorityClassName="system-node-critical"), high(), evicts=[], binds="-",
    ),
    preempts(
        "they stay although a later tier would allow their eviction",
        nodes(1, 1), low("a", namespace="kube-system"), high(), evicts=[], binds="-",
        conf=configuration(["conformance"], ["priority"], actions=ACTIONS),
    ),
    preempts(
        "the consent of conformance alone does not make victims",
        nodes(1, 1), running("a", name="equal", priority="high"), high(), evicts=[], binds="-",
        conf=configuration(["conformance"], ["priority"], actions=ACTIONS),
    ),
    preempts(
        "a pod that never preempts waits",
        nodes(1, 1), low("a"), high(preemptionPolicy="Never"), evicts=[], binds="-",
        codes={"high": ["InsufficientResource", "PreemptionPolicyNever"]},
        reasons={"high": ["0/1 nodes are available: 1 Insufficient cpu.",
                          "preempt: default/high-task-0 has preemptionPolicy Never"]},
    ),
    preempts(
        "a pod that is leaving already is waited for",
        nodes(1, 1), low("a", releasing=True), high(), evicts=[], binds="A",
    ),
    preempts(
        "a budget protects the last of a set",
        nodes(1, 1), budget("web", {"app": "web"}, minAvailable=1), low("a", labels={"app": "web"}), high(),
        evicts=[], binds="-", codes={"high": ["InsufficientResource", "DisruptionBudgetSpent"]},
        reasons={"high": ["0/1 nodes are available: 1 Insufficient cpu.",
                          "preempt: disruption budgets protect 1 preemptable pod "
                          "(default/low-task-0: disruption budget default/web allows 0 more)"]},
    ),
    preempts(
        "a budget is spent once, by whichever action",
        nodes(1, 2), budget("web", {"app": "web"}, maxUnavailable=1), low("ab", labels={"app": "web"}),
        gang(1, name="one", priority="high"), gang(1, name="two", priority="high"),
        evicts=["low-task-1"], binds="B -",
    ),
    preempts(
        "a budget is spent once on one node, too",
        nodes(2, 1), budget("web", {"app": "web"}, maxUnavailable=1), low("aa", labels={"app": "web"}), high(cpu=2),
        evicts=[], binds="-",
    ),
    preempts(
        "pods without a budget replace those with a spent budget",
        nodes(3, 1), budget("web", {"app": "web"}, maxUnavailable=1), low("aa", labels={"app": "web"}, name="web"),
        low("a", name="other"), high(cpu=2), evicts=["other-task-0", "web-task-1"], binds="A",
    ),
    preempts(
        "a budget in per cent is rounded up",
        nodes(1, 3), budget("web", {"app": "web"}, minAvailable="50%"), low("abc", labels={"app": "web"}), high(2),
        evicts=[], binds="--",
    ),
    preempts(
        "a pod without a budget is evicted first",
        nodes(1, 2), budget("web", {"app": "web"}, maxUnavailable=0), low("a", name="web", labels={"app": "web"}),
        low("b", name="free"), high(), evicts=["free-task-0"], binds="B",
    ),
    preempts(
        "the budgets' controller has the last word",
        nodes(1, 1), {**budget("web", {"app": "web"}, minAvailable=0), "status": {"disruptionsAllowed": 0}},
        low("a", labels={"app": "web"}), high(), evicts=[], binds="-",
    ),
    preempts(
        "two budgets over one pod forbid its eviction",
        nodes(1, 1), budget("one", {"app": "web"}, minAvailable=0), budget("two", {"app": "web"}, minAvailable=0),
        low("a", labels={"app": "web"}), high(), evicts=[], binds="-",
    ),
    preempts(
        "a whole gang needs the budget for all its members",
        nodes(1, 2), budget("web", {"app": "web"}, maxUnavailable=1), low("ab", minimum=2, labels={"app": "web"}),
        high(), evicts=[], binds="-",
    ),
]  # fmt: skip

PORT = [{"containerPort": 80, "hostPort": 80}]
AWAY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "host"}
        ]
    }
}

NODES = [
    preempts(
        "a node that rejects the preemptor has no victims",
        node("a", 1, taints=["gpu=true:NoSchedule"]), node("b", 1), low("ab"), high(),
        evicts=["low-task-1"], binds="B",
    ),
    preempts(
        "a node too small for the preemptor has no victims",
        node("a", 1), low("a"), high(cpu=2), evicts=[], binds="-",
    ),
    preempts(
        "the pod that holds the port is evicted",
        nodes(4, 1), low("a", name="port", ports=PORT), low("a", name="other"), high(ports=PORT),
        evicts=["port-task-0"], binds="A",
    ),
    preempts(
        "the pod with anti-affinity is evicted",
        node("a", 4, labels={"host": "a"}), low("a", name="web", labels={"app": "web"}), low("a", name="other"),
        high(affinity=AWAY), evicts=["web-task-0"], binds="A",
    ),
    preempts(
        "nothing is evicted where an important pod keeps the preemptor away",
        node("a", 2, labels={"host": "a"}),
        running("a", name="web", priority="high", labels={"app": "web"}), low("a"), high(affinity=AWAY),
        evicts=[], binds="-",
    ),
    preempts(
        "a full queue preempts its own jobs",
        nodes(4, 1), queue("small", capability={"cpu": 1}), low("a", queue="small"), high(queue="small"),
        conf=configuration("priority", plugin("gang", enablePreemptable=False), "proportion", "predicates",
                           actions=ACTIONS),
        evicts=["low-task-0"], binds="A",
    ),
    preempts(
        "nothing is evicted for a preemptor that the queue cannot take in any case",
        nodes(4, 1), queue("small", capability={"cpu": 2}), low("aa", queue="small"), high(cpu=3, queue="small"),
        conf=configuration("priority", plugin("gang", enablePreemptable=False), "proportion", "predicates",
                           actions=ACTIONS),
        evicts=[], binds="-",
    ),
    preempts(
        "nominated capacity needs no new victim",
        nodes(1, 2), low("a"), low("b", name="leaving", releasing=True), high(nominated="b"), evicts=[], binds="B",
    ),
    preempts(
        "a more important job of the queue may take nominated capacity",
        nodes(1, 1), low("a", releasing=True), gang(1, name="first", priority="high"),
        gang(1, name="promised", priority="middle", nominated="a"), evicts=[], binds="A -",
    ),
    preempts(
        "nominated capacity is free again without its pod",
        nodes(1, 1), low("a", releasing=True), high(nominated="z"), gang(1, name="next", priority="low"),
        evicts=[], binds="A -",
    ),
]  # fmt: skip

WITHIN = [
    preempts(
        "within a job the more important member takes the place",
        nodes(1, 1),
        gang_of(pod(nodeName="a"), pod(priorityClassName="high"), name="job", minimum=1, phase="Running"),
        conf=configuration("priority", "predicates", actions=ACTIONS), evicts=["job-task-0"], binds="A",
    ),
    preempts(
        "within a job equals do not replace each other",
        nodes(1, 1), gang_of(pod(nodeName="a"), pod(), name="job", minimum=1, phase="Running"),
        conf=configuration("priority", "predicates", actions=ACTIONS), evicts=[], binds="-",
    ),
    preempts(
        "a job at its minimum does not starve where the gang plugin answers",
        nodes(1, 1),
        gang_of(pod(nodeName="a"), pod(priorityClassName="high"), name="job", minimum=1, phase="Running"),
        evicts=[], binds="-",
    ),
]  # fmt: skip

SHARES = [
    preempts(
        "by shares alone, the larger share is preempted by the smaller",
        nodes(4, 1), running("aaaa", name="rich"), gang(1, name="poor"),
        conf=configuration(plugin("gang", enablePreemptable=False), "drf", "predicates", actions=ACTIONS),
        evicts=["rich-task-3"], binds="A",
    ),
    preempts(
        "by shares alone, equals stay",
        nodes(1, 1), running("a", name="rich"), gang(1, name="poor"),
        conf=configuration(plugin("gang", enablePreemptable=False), "drf", "predicates", actions=ACTIONS),
        evicts=[], binds="-",
    ),
    preempts(
        "without a plugin that answers nothing is evicted",
        nodes(1, 1), low("a"), high(), evicts=[], binds="-",
        conf=configuration(plugin("gang", enablePreemptable=False), "predicates", actions=ACTIONS),
    ),
    preempts(
        "the next cycle binds the preemptor, and evicts no more",
        nodes(1, 2), low("ab"), high(), cycles=5, evicts=["low-task-1"], binds="b",
    ),
]  # fmt: skip

OVERCOMMIT = configuration(
    "priority", plugin("gang", enablePreemptable=False), "overcommit", "predicates", actions=ACTIONS
)  # fmt: skip
ADMISSION = [
    preempts(
        "a job that can preempt enough is admitted to a full cluster",
        nodes(4, 1), low("aaaa"), high(cpu=2, resources={"cpu": 2}), conf=OVERCOMMIT,
        evicts=["low-task-2", "low-task-3"], binds="A", phases={"high": "Inqueue"},
    ),
    preempts(
        "a job that cannot is not",
        nodes(4, 1), running("aaaa", name="equal", priority="high"), high(cpu=2, resources={"cpu": 2}),
        conf=OVERCOMMIT, evicts=[], binds="-", phases={"high": "Pending"},
    ),
    preempts(
        "nor is one that needs more than victims hold",
        nodes(4, 1), low("aa"), running("aa", name="equal", priority="high"),
        high(cpu=3, resources={"cpu": 3}), conf=OVERCOMMIT, evicts=[], binds="-", phases={"high": "Pending"},
    ),
    preempts(
        "where nothing evicts, a full cluster is full",
        nodes(4, 1), low("aaaa"), high(cpu=2, resources={"cpu": 2}), evicts=[], binds="-", phases={"high": "Pending"},
        conf=configuration("priority", "gang", "overcommit", "predicates", actions="enqueue, allocate"),
    ),
]  # fmt: skip

TOGETHER = [
    preempts(
        "the first pod leaves the only large node to the second one",
        node("a", 2), node("b", 4), running("a", 2, name="middle", priority="middle"), low("b", cpu=4),
        gang_of(pod(2), pod(4), name="high", priority="high"),
        evicts=["low-task-0", "middle-task-0"], binds="AB", conf=conf,
    )
    for conf in (PREEMPT, PREEMPT.replace("allocate, preempt", "allocate, gangpreempt"))
]  # fmt: skip

CASES = [*TOGETHER, *ADMISSION, *BETWEEN_JOBS, *WITHOUT_REQUESTS, *GANGS, *PROTECTED, *NODES, *WITHIN, *SHARES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_preempt(case: Case) -> None:
    case.check()
