"""deviceshare in random clusters: no device is allocated twice, undo is exact, and a restarted scheduler restores the
same state from annotations.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.plugins.deviceshare.plugin import DeviceShare
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, flattened, objects, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, pod, priority_class
from tests.testing.manifests.shared_devices import (
    A100,
    cards,
    chips,
    device_config,
    gpu_node,
    having,
    npu,
    npus,
    shared_gpus,
    sharing,
    vgpu,
)
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.undo import Step, check_steps, steps

MEMORY, PLACES = 100, 3

requests = st.builds(
    vgpu,
    number=st.integers(1, 2),
    memory=st.sampled_from([0, 10, 40, 50, 70]),
    cores=st.sampled_from([0, 0, 30, 60, 100]),
)
jobs = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 4), requests, st.sampled_from(["urgent", "lazy"]), st.booleans()),
    min_size=1,
    max_size=4,
)
#: Number of GPUs of each node.
machines = st.lists(st.integers(0, 3), min_size=1, max_size=3)
policies = st.sampled_from(["", "binpack", "spread"])
CLASSES = [priority_class("urgent", 100), priority_class("lazy", 1)]


def gpus(numbers: list[int]) -> list[Manifest]:
    return [
        gpu_node(name, *(f"{name}{place}" for place in range(number)), memory=MEMORY, count=PLACES)
        for name, number in zip("abc", numbers, strict=False)
    ]


def gangs(jobs: list[Any]) -> list[Any]:
    return [
        gang(
            count, name=f"job{place}", minimum=min(minimum, count), more=request, priority=priority,
            priorityClassName=priority, labels={"kind": "training"} if exclusive else {},
        )
        for place, (count, minimum, request, priority, exclusive) in enumerate(jobs)
    ]  # fmt: skip


def program_of(policy: str, *, actions: str = "enqueue, allocate, preempt") -> Program:
    conf = sharing(
        plugin("priority"), VGPUEnable=True, SchedulePolicy=policy, ScheduleWeight=1, actions=actions,
        GPUExclusiveRules=[{"kind": "training"}],
    )  # fmt: skip
    return Program(parse_configuration(conf, BUILT_IN), BUILT_IN)


def world_of(program: Program, *manifests: Any) -> PlannedCluster:
    return PlannedCluster(objects(flattened(manifests)), program, scheduler_names=SCHEDULER_NAMES)


def check_devices(world: PlannedCluster) -> None:
    """Count the devices of pods on nodes from their annotations."""
    for place, claims in world.snapshot().device_claims.items():
        memory, cores, users = defaultdict[str, int](int), defaultdict[str, int](int), defaultdict[str, int](int)
        exclusive = defaultdict[str, set[str]](set)
        for uid, claim in claims.items():
            entries = [entry.split(",") for entry in claim.annotations["volcano.sh/vgpu-ids-new"].split(":") if entry]
            asked = claim.requests.containers[0][0] if claim.requests else None
            assert asked is not None
            assert len({device for device, *_ in entries}) == asked.number
            for device, _, held, part in entries:
                assert device.startswith(place)
                assert int(held) == (asked.memory or MEMORY)
                memory[device] += int(held)
                cores[device] += int(part)
                users[device] += 1
                if claim.labels.get("kind") == "training":
                    exclusive[device].add(uid)
        assert max(memory.values()) <= MEMORY
        assert max(cores.values()) <= 100
        assert max(users.values()) <= PLACES
        assert all(len(uids) <= 1 for uids in exclusive.values())


@examples(35)
@given(numbers=machines, jobs=jobs, policy=policies)
def test_no_device_is_allocated_twice(numbers: list[int], jobs: list[Any], policy: str) -> None:
    program = program_of(policy)
    world = world_of(program, CLASSES, gpus(numbers), gangs(jobs))
    for _ in range(3):
        world.run_cycle()
        check_devices(world)


def books_in(program: Program) -> list[str]:
    found = program.plugins["deviceshare"]
    assert isinstance(found, DeviceShare)
    return [books.fingerprint() for books in found.states]


@examples(20)
@given(numbers=machines, jobs=jobs, policy=policies)
def test_restart_changes_nothing(numbers: list[int], jobs: list[Any], policy: str) -> None:
    program = program_of(policy, actions="enqueue, allocate")
    world = world_of(program, CLASSES, gpus(numbers), gangs(jobs))
    session = world.run_cycle()
    if any(kept.operations for kept in session.kept):
        return
    known = books_in(program)
    fresh = program_of(policy)
    Session(world.snapshot(), fresh)
    assert books_in(fresh) == known


KINDS = {
    "VGPUEnable": ([gpu_node("a", "g0", "g1", memory=40960, kind=A100, mode="mig")], vgpu(memory=9000)),
    "GPUSharingEnable": ([shared_gpus("a", 3, 3000)], {"volcano.sh/gpu-memory": 400}),
    "GPUNumberEnable": ([shared_gpus("a", 5, 0)], {"volcano.sh/gpu-number": 2}),
    "AscendHAMiVNPUEnable": ([npus("a", "n0", "n1")], npu(memory=5000)),
    "AscendMindClusterVNPUEnable": ([chips("a", 2)], {"huawei.com/npu-core": 2}),
}


def test_restart_changes_nothing_for_any_backend() -> None:
    for switch, (nodes, request) in KINDS.items():
        switches: dict[str, Any] = {switch: True}
        conf = sharing(**switches)
        program, fresh = (Program(parse_configuration(conf, BUILT_IN), BUILT_IN) for _ in range(2))
        labels = {"ring-controller.atlas": "ascend-310P"}
        world = world_of(program, nodes, gang(20, more=request, labels=labels, minimum=1))
        world.run_cycle()
        known = books_in(program)
        assert "Holding" in known[0]
        Session(world.snapshot(), fresh)
        assert books_in(fresh) == known


def standing(numbers: list[int]) -> list[Manifest]:
    """Return a pod on every GPU that uses half of it."""
    members = [
        pod(1, nodeName=name, more=vgpu(memory=50), annotations=having(f"{name}{place}:50"))
        for name, number in zip("abc", numbers, strict=False)
        for place in range(number)
    ]
    return gang_of(*members, name="old", minimum=0, phase="Running") if members else []


@examples(50)
@given(numbers=machines, jobs=jobs, policy=policies, steps=steps)
def test_undo_is_exact(numbers: list[int], jobs: list[Any], policy: str, steps: list[Step]) -> None:
    program = program_of(policy)
    session = Session(world_of(program, CLASSES, gpus(numbers), standing(numbers), gangs(jobs)).snapshot(), program)
    check_steps(session, steps, len(numbers), lambda: books_in(program))


def garbled(sound: str) -> st.SearchStrategy[str]:
    """Draw texts that are nearly or completely invalid."""
    pieces = st.lists(st.sampled_from([*sound, ",", ":", ";", "[", "]", "-1", "9" * 30, "\x00", "{", "é"]), max_size=30)
    return st.one_of(st.text(max_size=20), pieces.map("".join), st.just(sound))


@examples(40)
@given(
    register=garbled(cards("a0", "a1", memory=100)),
    held=garbled("a0,NVIDIA,50,0:"),
    registered=garbled('[{"id":"n0","count":7,"devmem":100,"devcore":8}]'),
    known=garbled("nvidia: {knownMigGeometries: []}"),
    policy=policies,
)
def test_invalid_annotations_affect_one_node_only(
    register: str, held: str, registered: str, known: str, policy: str
) -> None:
    conf = sharing(VGPUEnable=True, AscendHAMiVNPUEnable=True, SchedulePolicy=policy, ScheduleWeight=1)
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    bad = gpu_node("a", registered=register)
    bad["metadata"]["annotations"]["hami.io/node-register-Ascend310P"] = registered
    http_service = pod(
        1, name="stranger", nodeName="a", more=vgpu(memory=5), annotations={"volcano.sh/vgpu-ids-new": held}
    )
    sound = gang(2, more=vgpu(memory=50), nodeSelector={"on": "b"})
    world = world_of(
        program, bad, node("b", 9, more={"volcano.sh/vgpu-number": 9}, labels={"on": "b"}, annotations={
            "volcano.sh/node-vgpu-register": cards("b0", memory=100)}),
        http_service, device_config(known), sound, gang(2, more=vgpu(memory=50), name="late", minimum=1),
    )  # fmt: skip
    session = world.run_cycle()
    bound = {bind.name: bind.node for statement in session.decisions.binds for bind in statement}
    assert [bound[f"gang-task-{number}"] for number in range(2)] == ["b", "b"]
