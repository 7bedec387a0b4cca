"""What others say about the nodes reaches decisions."""

from __future__ import annotations

import time

from stromboli.kube.objects.catalogue import NODES
from tests.living.world import cpus, living, policy_of
from tests.outside.stranger import Exchange, Manner, Stranger, says, stranger
from tests.scenarios.builders import gang
from tests.scenarios.case import configuration


def measuring(part: str, node: str) -> Manner:
    """A Prometheus that says of one node which part of its cpu it uses."""

    def answer(exchange: Exchange) -> None:
        question = exchange.stranger.heard[-1].query["query"]
        value = part if "cpu_seconds" in question else str(time.time()) if "timestamp" in question else "0.1"
        sample = {"metric": {"node": node}, "value": [time.time(), value]}
        says({"status": "success", "data": {"resultType": "vector", "result": [sample]}})(exchange)

    return answer


def measured_by(person: Stranger) -> str:
    conf = configuration("priority", "gang", "predicates", "usage")
    return f"{conf}metrics: {{type: prometheus, address: '{person.address}', interval: 100ms}}\n"


async def test_a_pod_waits_for_a_node_to_calm_down() -> None:
    with stranger() as person:
        async with living(cpus(1), bare=True, policy=policy_of(measured_by(person))) as world:
            [node] = (await world.client.list(NODES)).items
            person.manners["/api/v1/query"] = measuring("0.95", node.key)
            await world.until_true(lambda: bool(world.scheduler.cluster.usage.figures))
            await world.create(gang(1, 1, name="train"))
            await world.until_says("train", "the CPU load of the node exceeds the upper limit")
            person.manners["/api/v1/query"] = measuring("0.2", node.key)
            await world.until_bound("train", 1)
