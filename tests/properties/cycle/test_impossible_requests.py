"""Requests that are reported as impossible do not fit into the empty cluster; those of equal pods are all reported."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.core.model.reasons import IMPOSSIBLE
from stromboli.core.session.program import Program
from stromboli.planner.plan import STARTED, SchedulingPlan
from stromboli.workloads.groups import GROUP_NAME
from tests.testing.cases.case import PLAIN, STANDARD, configuration, objects, plugin
from tests.testing.manifests.builders import Manifest, foreign, gang_of, node, pod
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import plan_of, program_of
from tests.testing.random_clusters.worlds import SmallWorld, tight_worlds, worlds

CONFIGURATIONS = [
    STANDARD, PLAIN, configuration("gang", "predicates", "capacity", "overcommit"),
    configuration("gang", "predicates", plugin("capacity", enableHierarchy=True)),
]  # fmt: skip
_PROGRAMS = {text: program_of(text) for text in CONFIGURATIONS}
programs = st.sampled_from(list(_PROGRAMS.values()))


def reported(plan: SchedulingPlan) -> list[str]:
    """The jobs that are reported as impossible. A job that has its minimum may report this of further pods."""
    codes = {code.value for code in IMPOSSIBLE}
    return [key for key, group in plan.groups.items() if codes & {each.reason for each in group.conditions}]


def starts_alone(job: str, given: list[kube.KubeObject], program: Program) -> bool:
    """Whether a job starts when the healthy nodes have no other pods, and in a queue without limits."""
    kept: list[kube.KubeObject] = []
    for entry in given:
        if isinstance(entry, kube.KubeNode):
            spec = msgspec.structs.replace(entry.spec, unschedulable=None, taints=None)
            kept.append(msgspec.structs.replace(entry, spec=spec, status=healthy(entry.status)))
        elif isinstance(entry, kube.PodGroup) and entry.key == job:
            kept.append(msgspec.structs.replace(entry, spec=msgspec.structs.replace(entry.spec, queue="default")))
        elif isinstance(entry, kube.PriorityClass) or (isinstance(entry, kube.Pod) and group_of(entry) == job):
            kept.append(entry)
    return plan_of(kept, program, cycles=3).groups[job].phase in STARTED


def healthy(status: kube.NodeStatus) -> kube.NodeStatus:
    return kube.NodeStatus(allocatable=status.allocatable, capacity=status.capacity)


def group_of(entry: kube.Pod) -> str:
    return f"{entry.metadata.namespace}/{(entry.metadata.annotations or {}).get(GROUP_NAME, '')}"


@examples(150)
@given(st.one_of(worlds(), tight_worlds()), programs)
def test_impossible_job_does_not_start_alone_in_empty_cluster(world: SmallWorld, program: Program) -> None:
    found = [key for key in reported(plan_of(world.objects, program)) if key in {each.key for each in world.groups}]
    for job in found:
        assert not starts_alone(job, world.objects, program), f"{job} starts alone"


# -- small clusters around the border -----------------------------------------------------------------------------

few = st.integers(1, 4)


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    """Nodes of a few sizes, some of them in use or cordoned."""
    shape: dict[str, Any] = {"memory": "8Gi", "pods": draw(st.sampled_from([None, 1, 3]))}
    made = [
        node(letter, draw(few), gpu=draw(st.sampled_from([None, 1, 2])), cordoned=draw(st.booleans()), **shape)
        for letter in "abcd"[: draw(few)]
    ]
    used = [foreign(each["metadata"]["name"], name=f"on-{each['metadata']['name']}") for each in made]
    return [*made, *(each for each in used if draw(st.booleans()))]


@st.composite
def mixed_gangs(draw: st.DrawFn) -> list[Manifest]:
    """Pods of several sizes and roles; the minimum is of all or some of them."""
    sizes = draw(st.lists(st.tuples(few, st.sampled_from([None, 1, 2]), st.sampled_from("xy")), min_size=1, max_size=6))
    minimums = {role: draw(few) for role in "xy" if draw(st.booleans())}
    resources = {"cpu": draw(st.integers(1, 20))} if draw(st.booleans()) else None
    members = [pod(cpu, gpu=gpu, role=role) for cpu, gpu, role in sizes]
    minimum = draw(st.integers(1, len(members)))
    return gang_of(*members, minimum=minimum, minimums=minimums or None, resources=resources)


@examples(300)
@given(clusters(), mixed_gangs(), programs)
def test_impossible_gang_does_not_start_in_empty_cluster(
    cluster: list[Manifest], gang: list[Manifest], program: Program
) -> None:
    world = objects([*cluster, *gang])
    for job in reported(plan_of(world, program)):
        assert not starts_alone(job, world, program)


@examples(300)
@given(clusters(), few, st.sampled_from([None, 1]), st.integers(1, 9))
def test_gang_of_equal_pods_is_impossible_or_starts_in_empty_cluster(
    cluster: list[Manifest], cpu: int, gpu: int | None, size: int
) -> None:
    world = objects([*cluster, *gang_of(*[pod(cpu, gpu=gpu) for _ in range(size)])])
    plan = plan_of(world)
    started = plan.groups["default/gang"].has_started
    assert ("default/gang" in reported(plan)) == (
        not started and not starts_alone("default/gang", world, _PROGRAMS[STANDARD])
    )
