"""A cycle with and without past usage: jobs of many users in many queues, on a cluster that is half full."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import clusters
from benchmarks.contention import job
from benchmarks.measurement import Result, finished, prepared, run_cycle
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT, parse_configuration
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.core.session.program import Program
from stromboli.kube.objects.cluster import NodeStatus
from stromboli.kube.objects.meta import ObjectMeta, Resources
from stromboli.kube.objects.volcano import QueueSpec
from stromboli.registry import built_in_registry
from stromboli.workloads.users import USER

Parameters = dict[str, int]

_POD: Resources = {"cpu": "1", "memory": "1Gi"}
_USERS = 10
_LISTED = "  - name: fairshare\n    arguments:\n      perUser: true\n  - name: proportion\n"


def fairshare(parameters: Parameters, runs: int) -> list[Result]:
    """The fastest of all cycles counts, for each configuration; they take turns."""
    return [_measured({**parameters, "size": size}, runs) for size in (1, 4)]


def _measured(parameters: Parameters, runs: int) -> Result:
    cluster = Cluster()
    clusters.fill(cluster, _objects(parameters))
    cluster.past_usage = _ledger(parameters)
    prepared(cluster)
    registry, timings = built_in_registry(()), dict[str, list[float]]()
    texts = {"off": DEFAULT_TEXT, "on": DEFAULT_TEXT.replace("  - name: proportion\n", _LISTED)}
    programs = {name: Program(parse_configuration(text, registry), registry) for name, text in texts.items()}
    result: Result | None = None
    for _ in range(runs):
        for name, program in programs.items():
            session, seconds, phases = run_cycle(cluster, program)
            timings.setdefault(name, []).append(seconds)
            placements = sum(map(len, session.decisions.binds))
            if name == "on" and seconds == min(timings["on"]):
                result = Result("fairshare", parameters, seconds, placements, placements / seconds, phases)
            del session
    assert result is not None
    result.runs = timings["on"]
    result.more = {"without": min(timings["off"]), "ratio": min(timings["on"]) / min(timings["off"])}
    return finished(result)


def _objects(parameters: Parameters) -> Iterator[kube.KubeObject]:
    yield from standard_queues()
    for number in range(parameters["queues"]):
        yield kube.KubeQueue(metadata=ObjectMeta(name=f"q{number}", uid=f"q{number}"), spec=QueueSpec(weight=1))
    for number in range(parameters["nodes"]):
        offered: Resources = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        name = f"node-{number:06}"
        yield kube.KubeNode(metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(allocatable=offered))
    for number in range(parameters["pods"]):
        queue, node = f"q{number % parameters['queues']}", f"node-{number // 8:06}"
        user = _user(number, parameters)
        yield from _of_user(user, job(f"old-{number:06}", 1, _POD, queue=queue, node=node, created=number))
        if number % parameters["size"] == 0:
            yield from _of_user(user, job(f"new-{number:06}", parameters["size"], _POD, queue=queue, created=number))


def _user(number: int, parameters: Parameters) -> str:
    """Each user has jobs in every queue."""
    return f"user-{number // parameters['queues'] % _USERS}"


def _of_user(user: str, objects: Iterator[kube.KubeObject]) -> Iterator[kube.KubeObject]:
    for each in objects:
        each.metadata.annotations = {**(each.metadata.annotations or {}), USER: user}
        yield each


def _ledger(parameters: Parameters) -> UsageLedger:
    ledger = UsageLedger()
    for number in range(parameters["pods"]):
        queue = f"q{number % parameters['queues']}"
        account = Account(queue, "bench", _user(number, parameters), (("cpu", 1000),))
        ledger.started(ledger.account(account), float(number))
    return ledger
