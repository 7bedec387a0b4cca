"""Shared GPUs are reserved by a pod for as long as they are shared, on an in-memory cluster.

Nodes are called a and b and have two GPUs, `GPU-a0` and so on; groups are called x, y and z.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from stromboli.core.model.devices.gpu_fractions import DEFAULT_NAMESPACE, GROUPS
from stromboli.kube.objects.catalogue import CONFIG_MAPS, PODS
from tests.testing.binder.gpu_world import GpuWorld
from tests.testing.virtual_time import run_virtually

Act = Callable[[GpuWorld], Awaitable[object]]


def pod(name: str, node: str, *groups: str, mapped: bool = True) -> Act:
    return lambda world: world.sharing(name, node, *groups, mapped=mapped)


def ended(name: str) -> Act:
    return lambda world: world.end(name)


def gone(name: str) -> Act:
    return lambda world: world.remove_pod(name)


def node_gone(name: str) -> Act:
    return lambda world: world.remove_node(name)


def recreated(name: str) -> Act:
    async def act(world: GpuWorld) -> None:
        await world.remove_pod(name)
        await world.waiting(name)

    return act


def reservation_pod_deleted() -> Act:
    async def act(world: GpuWorld) -> None:
        for each in (await world.holders()).values():
            await world.client.delete(PODS, each.metadata.name, namespace=DEFAULT_NAMESPACE, grace_period=0)

    return act


def claimed(name: str, **annotations: str) -> Act:
    """A tenant writes annotations on its pod that only the binder may write."""
    written = {"metadata": {"annotations": annotations}}
    return lambda world: world.client.patch(PODS, name, written, namespace="default")


def map_of_another(name: str) -> Act:
    body = {"metadata": {"name": name}, "data": {"mine": "yes"}}
    return lambda world: world.client.create(CONFIG_MAPS, body, namespace="default")


def settled() -> Act:
    return lambda world: world.until_settled()


@dataclass(frozen=True)
class Case:
    name: str
    acts: tuple[Act, ...]
    #: The reserved groups by node at the end, as in `a/x b/y`.
    held: str
    #: The GPUs in the environment of pods, by name; a dash for none.
    reported: dict[str, str]
    #: The phases of requests at the end, a letter each.
    ends: str = "S"
    reason: str = ""
    before: tuple[Act, ...] = ()
    silent: bool = False

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("a GPU is reserved and passed to the pod", (pod("one", "a", "x"),), "a/x", {"one": "GPU-a0"}),
    Case("two share it", (pod("one", "a", "x"), pod("two", "a", "x")), "a/x", {"one": "GPU-a0", "two": "GPU-a0"}, "SS"),
    Case("two of them are two GPUs", (pod("one", "a", "x", "y"),), "a/x a/y", {"one": "GPU-a0,GPU-a1"}),
    Case("groups of one name on two nodes are two", (pod("one", "a", "x"), pod("two", "b", "x")), "a/x b/x",
         {"one": "GPU-a0", "two": "GPU-b0"}, "SS"),
    Case("the first goes, the second stays", (pod("one", "a", "x"), pod("two", "a", "x"), settled(), gone("one")),
         "a/x", {"two": "GPU-a0"}, "SS"),
    Case("the last has ended", (pod("one", "a", "x"), settled(), ended("one")), "", {"one": "GPU-a0"}),
    Case("the last is gone", (pod("one", "a", "x"), settled(), gone("one")), "", {}),
    Case("of two groups one is left", (pod("one", "a", "x", "y"), pod("two", "a", "y"), settled(), gone("one")), "a/y",
         {"two": "GPU-a1"}, "SS"),
    Case("a pod without a ConfigMap", (pod("one", "a", "x", mapped=False),), "", {"one": "-"}, "F",
         "has no annotation stromboli.dev/gpu-config-map"),
    Case("a GPU with an unknown id", (pod("one", "a", "x"),), "", {"one": "-"}, "F",
         "no GPU of node a was reserved within 5 s", silent=True),
    Case("a ConfigMap of another owner", (map_of_another("one-gpu"), pod("one", "a", "x")), "", {}, "F",
         "ConfigMap default/one-gpu exists and does not belong to"),
    Case("a pod that is gone before", (lambda world: world.waiting("one"), lambda world: world.decide("one", "a", "x"),
         gone("one")), "", {"one": "-"}, "F"),
    Case("another pod of its name", (lambda world: world.waiting("one"), lambda world: world.decide("one", "a", "x"),
         recreated("one")), "", {"one": "-"}, "F"),
    Case("a holder that is left from before", (), "", {}, "", before=(
        lambda world: world.client.create(PODS, {"metadata": {"name": "gpu-left", "annotations": {GROUPS: "x"}}, "spec":
        {"nodeName": "a", "containers": [{"name": "hold", "image": "example/hold"}]}}, namespace=DEFAULT_NAMESPACE),)),
    Case("a lost reservation is restored", (pod("one", "a", "x"), settled(), reservation_pod_deleted()), "a/x",
         {"one": "GPU-a0"}),
    Case("a tenant's annotation reserves no GPU", (pod("one", "a", "x"), settled(), lambda world: world.waiting("sly"),
         claimed("sly", **{GROUPS: "x"}), gone("one")), "", {}),
    Case("a node that is gone", (pod("one", "a", "x"), settled(), node_gone("a")), "", {}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shared_gpus_are_held(case: Case) -> None:
    async def scenario() -> None:
        world = GpuWorld(silent=case.silent)
        try:
            await world.create_objects("a", "b")
            for act in case.before:
                await act(world)
            world.begin()
            for act in case.acts:
                await act(world)
            await world.until_settled()
            await world.until_held(case.held)
            assert {name: await world.reported(name) for name in case.reported} == case.reported
            requests = await world.requests()
            assert "".join((each.status.phase or "-")[0] for each in requests) == case.ends
            assert case.reason in "".join(each.status.reason for each in requests)
        finally:
            await world.close()

    run_virtually(scenario())


def test_lost_gpu_reservation_is_reported_on_its_pods() -> None:
    async def scenario() -> None:
        world = GpuWorld()
        try:
            await world.create_objects("a")
            world.begin()
            await world.sharing("one", "a", "x")
            await world.until_settled()
            await reservation_pod_deleted()(world)
            await world.until_held("a/x")
            for running in world.alive:
                await asyncio.sleep(10.0)
                await running.binder.recorder.flush(30.0)
            reported = await world.events("GPUReservationLost")
            assert reported == [
                "Pod one: GPU group x of node a had lost its reservation; GPU GPU-a0 is reserved now. Check that the "
                "pod uses this one."
            ]
            assert (await world.pods())["one"].spec.node_name == "a"
        finally:
            await world.close()

    run_virtually(scenario())
