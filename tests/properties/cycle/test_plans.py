"""Invariants of every plan in random clusters."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.kube import KubeObject
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.report import report_of
from stromboli.workloads.groups import GROUP_NAME
from tests.properties.cycle.recount import amounts_of, is_on_node, request_of, used_by_node
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import plan_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, tight_worlds, worlds

cycles = st.integers(1, 2)


@examples(100)
@given(st.one_of(worlds(), tight_worlds()))
def test_no_node_is_overcommitted(world: SmallWorld) -> None:
    """Nodes may have been overcommitted before; no other becomes so, and an overcommitted one gets nothing."""
    offered = {node.metadata.name: amounts_of(node.status.allocatable) for node in world.nodes}
    binds: dict[str, str] = {}
    pods = world.pods
    for cycle in plan_of(world.objects, cycles=2).cycles:
        binds |= cycle.binds
        used = used_by_node(pods, binds)
        for pod in pods:
            for resource in request_of(pod) if pod.key in cycle.binds else ():
                node = cycle.binds[pod.key]
                limit = offered[node].get(resource, math.inf if resource == "pods" else 0)
                assert used[node][resource] <= limit, f"{node} has too little {resource} for {pod.key}"
        pods = [pod for pod in pods if pod.metadata.deletion_timestamp is None]  # the others are gone by now


@examples(100)
@given(st.one_of(worlds(), tight_worlds()))
def test_gangs_start_whole_or_not_at_all(world: SmallWorld) -> None:
    binds = plan_of(world.objects).binds
    for group in world.groups:
        members = [pod for pod in world.pods if (pod.metadata.annotations or {}).get(GROUP_NAME) == group.metadata.name]
        if not any(pod.key in binds for pod in members):
            continue
        started = [pod for pod in members if pod.key in binds or _stands(pod) or _is_best_effort(pod)]
        assert len(started) >= (group.spec.min_member or 0), f"{group.key} was torn apart"
        minimums = group.spec.min_task_member or {}
        for role, minimum in minimums.items() if (group.spec.min_member or 0) >= sum(minimums.values()) else ():
            of_role = [pod for pod in started if (pod.metadata.annotations or {}).get(objects.ROLE, "") == role]
            assert len(of_role) >= minimum, f"{group.key} started without enough of {role}"


def _stands(pod: kube.Pod) -> bool:
    """Report whether a pod was placed before and stays, or has finished."""
    if pod.status.phase == "Succeeded":
        return True
    is_leaving = pod.metadata.deletion_timestamp is not None
    return is_on_node(pod) and not is_leaving and pod.status.phase in ("Running", "Pending")


def _is_best_effort(pod: kube.Pod) -> bool:
    """Best-effort pods are not waited for."""
    is_pending = pod.status.phase == "Pending" and not pod.spec.node_name and pod.metadata.deletion_timestamp is None
    return is_pending and set(request_of(pod)) == {"pods"}


@examples(150)
@given(worlds(), cycles)
def test_every_waiting_job_has_a_reason(world: SmallWorld, number: int) -> None:
    for key, group in plan_of(world.objects, cycles=number).groups.items():
        if group.waiting:
            assert group.reasons, f"{key} waits for no reason"
            assert group.codes, f"{key} waits for a reason without a code"
            assert all(text.strip() for text in group.reasons)


# -- the same world, the same plan ------------------------------------------------------------------------------------


def as_json(plan: SchedulingPlan) -> bytes:
    return msgspec.json.encode(report_of(plan))


@examples(100)
@given(worlds(), st.randoms(use_true_random=False), cycles)
def test_the_order_of_objects_does_not_matter(world: SmallWorld, random: Random, number: int) -> None:
    shuffled = world.objects
    random.shuffle(shuffled)
    assert as_json(plan_of(shuffled, cycles=number)) == as_json(plan_of(world.objects, cycles=number))


PLANNER = """
import io, json, sys
from stromboli.registry import built_in_registry
from stromboli.core.config.configuration import default_configuration
from stromboli.core.session.program import Program
from stromboli.planner.plan import make_plan
from stromboli.planner.report import report_of
from stromboli.workloads.reading import read_with_workloads

for line in sys.stdin:
    registry = built_in_registry()
    manifests = read_with_workloads(["-"], io.StringIO(line), scheduler_names=("stromboli",))
    program = Program(default_configuration(registry), registry)
    plan = make_plan(manifests.objects, program, cycles=2, scheduler_names=("stromboli",))
    print(json.dumps(report_of(plan, [str(problem) for problem in manifests.problems])))
"""


def planned_elsewhere(worlds_as_json: str, hash_seed: int) -> str:
    """Return plans of the same clusters, made by a process with another hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", PLANNER]
    process = subprocess.run(command, input=worlds_as_json, env=environment, capture_output=True, text=True, check=True)
    return process.stdout


@examples(2)
@given(st.lists(worlds(), min_size=4, max_size=6), st.randoms(use_true_random=False))
def test_hash_seeds_do_not_matter(small_worlds: list[SmallWorld], random: Random) -> None:
    """The order of objects does not matter either, between processes and after serialization."""
    plans = set()
    for hash_seed in (0, 1, 4242):
        lines = []
        for world in small_worlds:
            shuffled = world.objects
            random.shuffle(shuffled)
            lines.append(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*map(objects.manifest, shuffled)]}))
        plans.add(planned_elsewhere("\n".join(lines), hash_seed))
    assert len(plans) == 1
    assert len(plans.pop().splitlines()) == len(small_worlds)


# -- isolation --------------------------------------------------------------------------------------------------------


def absurd_job(name: str, queue: str, requests: dict[str, str], **spec: Any) -> list[KubeObject]:
    group = objects.group(name, queue=queue, phase="Inqueue", **({"min_member": 1} | spec))
    return [group, objects.pod(f"{name}-0", objects.template(requests), group=name)]


ABSURD: dict[str, Sequence[KubeObject]] = {
    "a pod with a negative request": absurd_job("absurd", "default", {"cpu": "-1"}),
    "a pod with a request that is no number": absurd_job("absurd", "silver", {"memory": "lots"}),
    "a pod with a request beyond all bounds": absurd_job("absurd", "gold", {"cpu": "1e99"}),
    "a group with a negative minimum": absurd_job("absurd", "default", {"cpu": "1"}, min_member=-1),
    "a group with invalid minResources": absurd_job("absurd", "gold", {"cpu": "1"}, min_resources={"cpu": "much"}),
    "a group of a queue that does not exist": absurd_job("absurd", "nowhere", {"cpu": "1"}),
    "a pod of a group that does not exist": [objects.pod("stray-0", objects.template({"cpu": "1"}), group="missing")],
    "a queue without weight": [objects.queue("absurd", weight=0)],
    "a queue below itself": [objects.queue("absurd", parent="absurd")],
    "a node that offers nonsense": [objects.node("absurd", {"cpu": "-4"})],
}


@examples(150)
@given(worlds(Traits(plain_pods=False)), st.sampled_from(sorted(ABSURD)))
def test_invalid_objects_affect_no_other_job(world: SmallWorld, kind: str) -> None:
    plan, disturbed = plan_of(world.objects), plan_of([*ABSURD[kind], *world.objects])
    assert disturbed.binds == plan.binds
    assert disturbed.pipelined == plan.pipelined
    assert {key: disturbed.groups[key].phase for key in plan.groups} == {k: g.phase for k, g in plan.groups.items()}
