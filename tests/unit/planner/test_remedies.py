"""What would let a job start: named stories, and the proof that every proposal keeps its promise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from stromboli import kube
from stromboli.planner.advice import Advice, advise
from stromboli.planner.changes import ObjectChange
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.report import advice_as_plain
from stromboli.planner.trials import Trials
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import (
    foreign,
    gang,
    gang_of,
    group,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, default_program, plan_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, worlds
from tests.unit.planner.edited_documents import apply_edits, documents_of

JOB = "default/gang"
ZONES = {"labels": {"zone": "x"}}
HOSTS = [node(name, 4, labels={"kubernetes.io/hostname": name}) for name in "ab"]
GPU_POOL = {"taints": ["gpu=true:NoSchedule"]}
APART = {
    "labels": {"app": "db"},
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    },
}
IN_ZONE_Y = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["y"]}]}]
        }
    }
}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
]
WITHOUT_REQUEST = {"containers": [{"name": "main", "resources": {"limits": {"cpu": "6"}}}]}


class Story:
    """Objects, the smallest change that lets `gang` start, and other kinds of changes that would, too."""

    def __init__(self, name: str, *manifests: Any, smallest: str | None, others: tuple[str, ...] = ()) -> None:
        self.name = name
        self.objects = objects(flattened(manifests))
        self.expected = (smallest, others)


def lowered(before: int, after: int) -> str:
    return f"lower minMember of PodGroup {JOB} from {before} to {after}"


STORIES = [
    Story(
        "a closed queue is opened",
        nodes(4, 1), queue("shut", state="Closed"), gang(2, queue="shut"),
        smallest="open queue shut, which is Closed",
    ),
    Story(
        "a queue that nobody made",
        nodes(4, 1), gang(2, queue="nowhere"),
        smallest="create queue nowhere",
    ),
    Story(
        "a group that nobody made",
        nodes(4, 1), gang(2)[1:],
        smallest=f"create PodGroup {JOB} with minMember 2",
    ),
    Story(
        "pods that do not exist yet",
        nodes(4, 1), gang(2, minimum=4),
        smallest=f"create the 2 missing pods of job {JOB}", others=("lower-min-member",),
    ),
    Story(
        "a role without enough pods",
        nodes(8, 1), gang(3, roles=["ps", "worker", "worker"], minimum=4, minimums={"ps": 1, "worker": 3}),
        smallest=f"create the missing pod of job {JOB}", others=("lower-min-member",),
    ),
    Story(
        "more than the cluster has",
        nodes(4, 2), gang(12),
        smallest=lowered(12, 8), others=("lower-request", "add-nodes"),
    ),
    Story(
        "what a group wants promised shrinks with its minimum",
        nodes(8, 1), queue("small", capability={"cpu": 2}), gang(3, queue="small", resources={"cpu": 3}),
        smallest=f"{lowered(3, 2)}; lower minResources of PodGroup {JOB}: cpu from 3 to 2",
        others=("raise-capability", "lower-request"),
    ),
    Story(
        "gates",
        nodes(8, 1), gang(2, gated=True),
        smallest="remove the scheduling gate wait from 2 pods",
    ),
    Story(
        "more promised than anybody asks for",
        nodes(4, 2), gang(2, resources={"cpu": 50}),
        smallest=f"lower minResources of PodGroup {JOB}: cpu from 50 to 2",
    ),
    Story(
        "a taint on every node",
        nodes(8, 2, **GPU_POOL), gang(3),
        smallest="add a toleration for taint {gpu: true} to 3 pods",
    ),
    Story(
        "a label that no node has",
        nodes(8, 2, **ZONES), gang(3, nodeSelector={"zone": "y"}),
        smallest="drop node selector zone=y from 3 pods",
    ),
    Story(
        "an affinity that no node satisfies",
        nodes(8, 2, **ZONES), gang(3, affinity=IN_ZONE_Y),
        smallest="drop the required node affinity for zone from 3 pods",
    ),
    Story(
        "pods that keep away from each other",
        HOSTS, gang(3, **APART),
        smallest=lowered(3, 2), others=("drop-pod-anti-affinity", "add-nodes"),
    ),
    Story(
        "pods that spread too evenly",
        HOSTS, running("a", 4), gang(2, labels={"app": "db"}, topologySpreadConstraints=SPREAD),
        smallest=lowered(2, 1), others=("relax-spreading", "add-nodes"),
    ),
    Story(
        "a cordoned node",
        node("a", 8, cordoned=True), gang(3),
        smallest="uncordon node a",
    ),
    Story(
        "a node that is not ready is no pattern to be copied with its troubles",
        node("a", 8, ready=False), gang(3),
        smallest="add 1 node like a",
    ),
    Story(
        "others are more important",
        nodes(4, 1), priority_class("high", 10), priority_class("higher", 20),
        gang(4, name="first", priority="high"), gang_of(pod(1), pod(1), minimum=2),
        smallest=f"give PodGroup {JOB} the priority class higher (20)", others=("add-nodes",),
    ),
    Story(
        "a queue at its ceiling",
        nodes(8, 1), queue("small", capability={"cpu": 1}), gang_of(pod(2), queue="small"),
        smallest="raise the capability of queue small: cpu from 1 to 2", others=("lower-request",),
    ),
    Story(
        "a queue with too small a share",
        nodes(4, 1), queue("light", 1), queue("heavy", 3), gang_of(pod(2), queue="light"),
        gang(4, name="other", queue="heavy", minimum=1),
        smallest="raise the weight of queue light from 1 to 3", others=("lower-request", "add-nodes"),
    ),
    Story(
        "larger than any node",
        nodes(4, 2), gang(1, cpu=6),
        smallest="request cpu 4 instead of 6 in pod default/gang-task-0",
    ),
    Story(
        "a limit stands for the request",
        nodes(4, 2), gang(1, **WITHOUT_REQUEST),
        smallest="request cpu 4 instead of 6 in pod default/gang-task-0",
    ),
    Story(
        "what the pod costs besides is not up for discussion",
        nodes(4, 1), gang(1, cpu=4, overhead={"cpu": "1"}),
        smallest="request cpu 3 instead of 4 in pod default/gang-task-0",
    ),
    Story(
        "strangers hold the room",
        nodes(4, 1), foreign("a", 3), gang(1, cpu=2),
        smallest="request cpu 1 instead of 2 in pod default/gang-task-0", others=("add-nodes",),
    ),
    Story(
        "those that came after the minimum wait, and all of them ask for less",
        nodes(4, 1), gang(6, minimum=2),
        smallest="request cpu 660m instead of 1 in 6 pods", others=("add-nodes",),
    ),
    Story(
        "three things are wrong at once",
        nodes(8, 2, **GPU_POOL, **ZONES), queue("shut", state="Closed"),
        gang(3, queue="shut", nodeSelector={"zone": "y"}),
        smallest="open queue shut, which is Closed; add a toleration for taint {gpu: true} to 3 pods; "
        "drop node selector zone=y from 3 pods",
    ),
    Story(
        "two things are wrong, and one of them by an amount",
        nodes(8, 2, **GPU_POOL), gang(3, cpu=10),
        smallest="add a toleration for taint {gpu: true} to 3 pods; request cpu 4 instead of 10 in 3 pods",
    ),
    Story("no pods at all", nodes(4, 1), group("gang", 3), smallest=None),
    Story("no nodes at all", gang(3), smallest=None),
    Story("a request that is not one", nodes(4, 1), gang(2, cpu="plenty"), smallest=None),
]  # fmt: skip


def advice_on(given: list[kube.KubeObject], job: str, cycles: int = 1) -> tuple[SchedulingPlan, Advice]:
    plan = plan_of(given, cycles=cycles)
    trials = Trials(given, default_program(), cycles=cycles, scheduler_names=SCHEDULER_NAMES)
    return plan, advise(plan, trials, [job])[0]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_smallest_change(story: Story) -> None:
    plan, advice = advice_on(story.objects, JOB)
    remedies = advice.remedies
    assert plan.groups[JOB].waiting
    found = remedies.smallest.sentence if remedies.smallest else None
    assert (found, tuple(change.kind for change in remedies.alternatives)) == story.expected
    assert not remedies.stopped_early


def test_a_job_that_holds_its_room_needs_no_change() -> None:
    given = objects(flattened([nodes(4, 1), running("a", 4, releasing=True), gang(1, 2)]))
    remedies = advice_on(given, JOB)[1].remedies
    assert (remedies.starts_by_itself, remedies.smallest, remedies.trials) == (True, None, 1)


def test_the_search_ends_where_it_must() -> None:
    given = objects(flattened([nodes(4, 2), gang(12)]))
    plan = plan_of(given)
    trials = Trials(given, default_program(), scheduler_names=SCHEDULER_NAMES, max_work=3 * len(given))
    remedies = advise(plan, trials, [JOB])[0].remedies
    assert (remedies.trials, remedies.stopped_early) == (3, True)
    assert remedies.smallest is not None, "what was found by then is told"


def test_a_search_that_ends_early_tells_the_smallest_that_it_has_seen() -> None:
    given = objects(flattened([nodes(4, 1), gang(1, cpu=9)]))
    sentences = []
    for affordable in (1, 8, 10, 60):
        trials = Trials(given, default_program(), scheduler_names=SCHEDULER_NAMES, max_work=affordable * len(given))
        remedies = advise(plan_of(given), trials, [JOB])[0].remedies
        sentences.append((remedies.smallest.sentence if remedies.smallest else "", remedies.stopped_early))
    asked = "request cpu {} instead of 9 in pod default/gang-task-0"
    expected = [("100m", True), ("3", True), ("3700m", True), ("4", False)]
    assert sentences == [(asked.format(amount), early) for amount, early in expected]


def test_objects_are_not_touched() -> None:
    given = objects(flattened([nodes(8, 2, **GPU_POOL), gang(3, cpu=10)]))
    before = documents_of(given)
    assert advice_on(given, JOB)[1].remedies.trials > 10
    assert documents_of(given) == before


# -- properties -------------------------------------------------------------------------------------------------------


def places(plan: SchedulingPlan, job: str, all_pods: bool) -> bool:
    group = plan.groups[job]
    return group.has_started and not (all_pods and group.waiting)


def proposals(advice: Advice) -> list[ObjectChange]:
    smallest = advice.remedies.smallest
    return [*([smallest] if smallest else []), *advice.remedies.alternatives]


@examples(40)
@given(worlds(Traits(most_nodes=4)))
def test_a_proposed_change_places_the_job(world: SmallWorld) -> None:
    plan = plan_of(world.objects)
    trials = Trials(world.objects, default_program(), scheduler_names=SCHEDULER_NAMES)
    for advice in advise(plan, trials, plan.waiting[:3]):
        job, started = advice.explanation.job, advice.explanation.group.has_started
        for change in proposals(advice):
            changed = change.apply(world.objects)
            outcomes = [places(plan_of(changed, cycles=cycles), job, started) for cycles in (1, 2, 3)]
            assert any(outcomes), f"{job}: {change.sentence}"


@examples(20)
@given(worlds(Traits(most_nodes=4)))
def test_programs_can_make_the_change_themselves(world: SmallWorld) -> None:
    plan = plan_of(world.objects)
    trials = Trials(world.objects, default_program(), scheduler_names=SCHEDULER_NAMES)
    for advice in advise(plan, trials, plan.waiting[:2]):
        report = advice_as_plain(advice)
        plain = [*filter(None, [report["smallestChange"]]), *report["alternatives"]]
        for change, described in zip(proposals(advice), plain, strict=True):
            by_hand = apply_edits(documents_of(world.objects), described["edits"])
            assert by_hand == documents_of(change.apply(world.objects)), change.sentence
