"""What others say about nodes and pods reaches decisions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.external.extenders import HttpExtenders
from stromboli.kube.objects.catalogue import NODES
from stromboli.scheduler.policy import ActivePolicy
from tests.testing.cases.case import configuration, plugin
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang
from tests.testing.world import World, cpus, policy_of, running_cluster
from tests.unit.external.http_service import Exchange, Handler, HttpService, disconnects, http_service, responds


def measuring(parts: Mapping[str, float]) -> Handler:
    """A Prometheus with the cpu usage of nodes."""

    def answer(exchange: Exchange) -> None:
        question, now = exchange.http_service.received[-1].query["query"], time.time()

        def value(part: float) -> str:
            return str(part if "cpu_seconds" in question else now if "timestamp" in question else 0.1)

        samples = [{"metric": {"node": node}, "value": [now, value(part)]} for node, part in parts.items()]
        responds({"status": "success", "data": {"resultType": "vector", "result": samples}})(exchange)

    return answer


def measured_by(service: HttpService, conf: str) -> ActivePolicy:
    return policy_of(f"{conf}metrics: {{type: prometheus, address: '{service.address}', interval: 100ms}}\n")


async def names_of_nodes(world: World) -> list[str]:
    return sorted(node.key for node in (await world.client.list(NODES)).items)


async def test_a_pod_waits_for_a_node_to_calm_down() -> None:
    conf = configuration("priority", "gang", "predicates", "usage")
    with http_service() as service:
        async with running_cluster(cpus(1), bare=True, policy=measured_by(service, conf)) as world:
            [node] = await names_of_nodes(world)
            service.handlers["/api/v1/query"] = measuring({node: 0.95})
            await world.until_true(lambda: bool(world.scheduler.cluster.usage.figures))
            await world.create(gang(1, 1, name="train"))
            await world.until_condition("train", "the CPU load of the node exceeds the upper limit")
            service.handlers["/api/v1/query"] = measuring({node: 0.2})
            await world.until_bound("train", 1)
            await check(world)


async def test_a_busy_node_is_relieved() -> None:
    params = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}
    strategies = [{"name": "lowNodeUtilization", "params": params}]
    own = plugin("rescheduling", {"strategies": strategies, "interval": "100ms"})
    conf = configuration("priority", "gang", "predicates", own, actions="enqueue, allocate, shuffle")
    with http_service() as service:
        async with running_cluster(cpus(2), policy=measured_by(service, conf)) as world:
            await world.create(gang(1, 1, name="train"))
            [pod] = await world.until_bound("train", 1)
            others = [name for name in await names_of_nodes(world) if name != pod.spec.node_name]
            service.handlers["/api/v1/query"] = measuring({str(pod.spec.node_name): 0.9, **dict.fromkeys(others, 0.1)})
            await world.until_bound("train", 0)
            await world.until_event("train-task-0", "shuffle")
            await check(world, torn=["train"])


async def test_an_extender_has_a_say_and_is_waited_for(tmp_path: Path) -> None:
    with http_service() as service:
        named = {"extender.urlPrefix": service.address, "extender.predicateVerb": "predicate"}
        file = tmp_path / "policy.yaml"
        file.write_text(configuration("priority", "gang", "predicates", plugin("extender", named)))
        policy = ActivePolicy(Registry(PLUGINS, ACTIONS), str(file), outside=HttpExtenders())
        service.handlers["/predicate"] = disconnects
        async with running_cluster(cpus(2), bare=True, policy=policy) as world:
            first, second = await names_of_nodes(world)
            await world.create(gang(1, 1, name="train"))
            await world.until_condition("train", "extender did not answer")
            service.handlers["/predicate"] = responds({"refused": {first: "not this one"}})
            [pod] = await world.until_bound("train", 1)
            assert pod.spec.node_name == second
            await check(world)
        policy.close()
