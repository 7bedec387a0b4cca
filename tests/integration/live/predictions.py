"""Random pairs of a cluster and a job: what `stromboli plan` predicts, and what the scheduler then does."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from stromboli.cli import main
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.registry import built_in_registry
from stromboli.scheduler.cycle import CycleResult
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.policy import ActivePolicy
from tests.testing.manifests.builders import Manifest, gang, manifest, node, queue, running
from tests.testing.priority_classes import until_usable
from tests.testing.stage import TEST_SERVERS
from tests.testing.world import QUICK

#: Cycles without a decision after which the scheduler has done all that it will.
QUIET_CYCLES = 3
QUICK_CYCLES = replace(QUICK, period=0.01, flush=0.03)
ROOT = Path(__file__).parents[3]
JOB = "submitted"
PRIORITIES = {f"priority-{number}": number * 10 for number in range(6)}
ACTIONS = ("enqueue, allocate, backfill", "enqueue, allocate, preempt", "enqueue, allocate, reclaim, preempt, backfill")
PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What happens to the job: its pods by node, those that wait for terminating pods, and the evicted pods."""

    nodes: Mapping[str, int] = field(default_factory=dict)
    nominated: Mapping[str, int] = field(default_factory=dict)
    evicted: frozenset[str] = frozenset()

    def agrees(self, observed: Prediction) -> bool:
        """Report whether the same was observed. Nominated pods start where evicted pods are gone at once; evictions for
        other jobs are not predicted.
        """
        later = dict(Counter(self.nodes) + Counter(self.nominated))
        return observed.nodes in (self.nodes, later) and self.evicted <= observed.evicted


@dataclass(frozen=True, slots=True)
class Pair:
    """A cluster, a policy, and the job to submit."""

    seed: int
    cluster: list[Manifest]
    policy: str
    job: list[Manifest]


def random_pair(seed: int) -> Pair:
    """Nodes with running gangs and waiting ones, in two queues; priorities differ, so that ages do not matter."""
    chance = random.Random(seed)  # noqa: S311
    letters = "abcdef"[: chance.randint(1, 6)]
    priorities = chance.sample(sorted(PRIORITIES), len(PRIORITIES))
    cluster: list[Manifest] = [
        manifest("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in PRIORITIES.items()
    ]
    cluster += [queue(name, chance.randint(1, 4)) for name in ("red", "blue")]
    free = {letter: chance.randint(2, 8) for letter in letters}
    cluster += [node(name, cpu, labels={"disk": chance.choice(("ssd", "hdd"))}) for name, cpu in free.items()]
    for number in range(chance.randint(0, 3)):
        places = "".join(letter for letter in letters if free[letter] > 0 and chance.random() < 0.6)
        for letter in places:
            free[letter] -= 1
        if places:
            facts = _facts(chance, priorities[number])
            cluster += running(places, 1, name=f"old-{number}", minimum=chance.randint(0, len(places)), **facts)
    for number in range(chance.randint(0, 2)):
        facts = _facts(chance, priorities[3 + number])
        cluster += gang(chance.randint(1, 3), chance.randint(1, 5), name=f"waiting-{number}", **facts)
    job = gang(chance.randint(1, 4), chance.randint(1, 6), name=JOB, **_facts(chance, priorities[5]))
    return Pair(seed, cluster, _policy(chance), job)


def _facts(chance: random.Random, priority: str) -> dict[str, Any]:
    selector = {"nodeSelector": {"disk": "ssd"}} if chance.random() < 0.2 else {}
    return {"queue": chance.choice(("red", "blue")), "priority": priority, "priorityClassName": priority, **selector}


def _policy(chance: random.Random) -> str:
    tiers = [f"- plugins:\n{''.join(f'  - name: {name}{chr(10)}' for name in tier)}" for tier in PLUGINS]
    return f'actions: "{chance.choice(ACTIONS)}"\ntiers:\n{"".join(tiers)}'


async def compare(pair: Pair, folder: Path) -> tuple[Prediction, Prediction]:
    """Return what the plan predicts, and what the scheduler does after the job was created."""
    policy, job, kubeconfig = folder / "policy.conf", folder / "job.json", folder / f"kubeconfig-{pair.seed}"
    policy.write_text(pair.policy)
    job.write_text(json.dumps(pair.job))
    async with TEST_SERVERS.stage() as stage, Client(stage.connection) as client:
        await _create(client, pair.cluster)
        command = ["plan", "-f", str(job), "--conf", str(policy), "-o", "json"]
        path = stage.kubeconfig(folder / f"{pair.seed}") if stage.shared else kubeconfig
        if stage.shared is None:
            stage.server.write_kubeconfig(kubeconfig)
        result = await asyncio.to_thread(CliRunner().invoke, main, [*command, "--kubeconfig", str(path)])
        predicted = _predicted(json.loads(result.stdout))
        before = {pod.metadata.uid: pod.key for pod in (await client.list(PODS)).items}
        await _create(client, pair.job)
        await _schedule(client, policy)
        return predicted, await _observed(client, before)


async def _create(client: Client, manifests: list[Manifest]) -> None:
    documents = [{**each, "metadata": {k: v for k, v in each["metadata"].items() if k != "uid"}} for each in manifests]
    classes = [each for each in documents if each["kind"] == "PriorityClass"]
    await Applier(client).apply(classes)
    for each in classes:
        await until_usable(client, each["metadata"]["name"])
    await Applier(client).apply(each for each in documents if each["kind"] != "PriorityClass")
    for each in documents:
        if each["kind"] == "Node":
            await client.patch(NODES, each["metadata"]["name"], {"spec": {"taints": None}})


def _predicted(report: dict[str, Any]) -> Prediction:
    nodes, nominated = (
        dict(Counter(node for pod, node in report[part].items() if pod.startswith(f"default/{JOB}-")))
        for part in ("binds", "pipelined")
    )
    victims = frozenset(each["pod"] for each in report["evictionDetails"] if each["preemptor"] == f"default/{JOB}")
    return Prediction(nodes, nominated, victims)


async def _schedule(client: Client, policy: Path) -> None:
    """Run the scheduler until it decides nothing more."""
    scheduler = Scheduler(client, ActivePolicy(built_in_registry(), str(policy)), QUICK_CYCLES)
    quiet = 0
    done = asyncio.Event()

    def observe(result: CycleResult) -> None:
        nonlocal quiet
        quiet = 0 if result.binds or result.evictions else quiet + 1
        if quiet >= QUIET_CYCLES:
            done.set()

    scheduler.observers.append(observe)
    task = asyncio.ensure_future(scheduler.run())
    await asyncio.wait_for(done.wait(), 30)
    scheduler.stop()
    await task


async def _observed(client: Client, before: Mapping[str, str]) -> Prediction:
    pods = (await client.list(PODS)).items
    mine = [pod for pod in pods if pod.metadata.name.startswith(f"{JOB}-")]
    nodes = Counter(pod.spec.node_name for pod in mine if pod.spec.node_name)
    left = {pod.metadata.uid for pod in pods if pod.metadata.deletion_timestamp is None}
    evicted = frozenset(key for uid, key in before.items() if uid not in left)
    return Prediction(dict(nodes), evicted=evicted)
