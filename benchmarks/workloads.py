"""The workloads, by name. Each returns results for its parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks import (
    api_server,
    binder,
    churn,
    clusters,
    console,
    contended_days,
    contention,
    environment,
    fairshare,
    forecast,
    hostile,
    job_controller,
    job_list,
    ledger,
    live,
    local_cluster,
    quality,
    scale,
    simulate,
    soak,
    topology,
)
from benchmarks.measurement import Result, best_of, finished, new_program, run_cycle
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session

Parameters = dict[str, int]
Workload = Callable[..., list[Result]]


def _jobs(number: int, size: int, *, minimum: int | None = None, queues: int = 0) -> Iterator[kube.KubeObject]:
    specs = [clusters.template(n) for n in range(clusters.TEMPLATES)]
    for index in range(number):
        queue = f"queue-{index % queues:04}" if queues else "default"
        yield from clusters.job(f"job-{index:06}", size, specs[index % len(specs)], minimum=minimum, queue=queue)


def _ordinary(name: str, size: int, minimum: int | None = None) -> Workload:
    def run(parameters: Parameters, runs: int) -> list[Result]:
        def make() -> Cluster:
            cluster = clusters.empty_cluster(parameters["nodes"])
            clusters.fill(cluster, _jobs(parameters["pods"] // size, size, minimum=minimum))
            return cluster

        return [best_of(name, parameters, make, runs)]

    return run


def gang(parameters: Parameters, runs: int) -> list[Result]:
    """One gang of 32,000 on 1,000 nodes of 32 cpu; then 10,000 tasks in other shapes."""
    nodes = parameters["nodes"]
    shapes = [(1, nodes * 32), (10_000, 1), (500, 20), (20, 500), (1, 10_000)]
    return [_gang_shape(nodes, number, size, runs) for number, size in shapes]


def _gang_shape(nodes: int, number: int, size: int, runs: int) -> Result:
    def make() -> Cluster:
        cluster = Cluster()
        clusters.fill(cluster, iter([*standard_queues(), *(clusters.plain_node(n, 32) for n in range(nodes))]))
        for index in range(number):
            clusters.fill(cluster, clusters.job(f"gang-{index:05}", size, clusters.cpu_template()))
        return cluster

    return best_of("gang", {"nodes": nodes, "gangs": number, "size": size}, make, runs)


def queues(parameters: Parameters, runs: int) -> list[Result]:
    """Many queues, ordered by their shares."""
    number = parameters["queues"]

    def make() -> Cluster:
        cluster = clusters.empty_cluster(parameters["nodes"])
        clusters.fill(cluster, (clusters.queue(n) for n in range(number)))
        clusters.fill(cluster, _jobs(parameters["pods"] // 10, 10, queues=number))
        return cluster

    return [best_of("queues", parameters, make, runs)]


def backlog(parameters: Parameters, runs: int) -> list[Result]:
    """Pods that fit among as many that never will: the rate of the former, against their rate alone."""
    nodes, pods = parameters["nodes"], parameters["pods"]

    def fitting() -> Cluster:
        cluster = clusters.empty_cluster(nodes)
        clusters.fill(cluster, _jobs(pods // 10, 10))
        return cluster

    def mixed() -> Cluster:
        cluster = fitting()
        for index in range(pods // 10):
            spec = clusters.template(index % 200, impossible=True)
            clusters.fill(cluster, _without_minimum(clusters.job(f"big-{index:05}", 10, spec)))
        return cluster

    alone = best_of("backlog-alone", parameters, fitting, runs)
    first_alone, first = (_first_cycle(make, max(1, min(runs, 3))) for make in (fitting, mixed))
    later = best_of("backlog", parameters, mixed, runs)
    rate = alone.placements_per_second
    later.more = {
        "rate_alone": rate,
        "first_cycle_part_of_rate_alone": first.placements_per_second / rate,
        "first_cycle_part_of_first_cycle_alone": first.placements_per_second / first_alone.placements_per_second,
        "later_cycles_part_of_rate_alone": later.placements_per_second / rate,
    }
    return [later]


def _without_minimum(objects: Iterator[kube.KubeObject]) -> Iterator[kube.KubeObject]:
    """Groups that are admitted without a minimum."""
    for entry in objects:
        if isinstance(entry, kube.PodGroup):
            entry.spec.min_resources = None
        yield entry


def _first_cycle(make: Callable[[], Cluster], runs: int) -> Result:
    """The fastest of several cycles without any cache of an earlier one."""
    return min((best_of("backlog-first", {}, make, 1) for _ in range(runs)), key=lambda result: result.seconds)


def snapshot(parameters: Parameters, runs: int) -> list[Result]:
    """An idle cycle in a large cluster, with all pods running."""
    nodes, pods = parameters["nodes"], parameters["pods"]
    cluster = clusters.empty_cluster(nodes)
    clusters.fill(cluster, (clusters.queue(n) for n in range(100)))
    specs = [clusters.template(n) for n in range(clusters.TEMPLATES)]
    for index in range(pods // 10):
        places = [f"node-{(index * 10 + n) % nodes:06}" for n in range(10)]
        queue = f"queue-{index % 100:04}"
        clusters.fill(cluster, clusters.job(f"job-{index:06}", 10, specs[index % 50], queue=queue, nodes=places))
    program = new_program()
    run_cycle(cluster, program)
    opens, cycles = [], []
    for _ in range(max(runs, 5)):
        start = time.perf_counter()
        Session(cluster.snapshot(), program)
        opens.append(time.perf_counter() - start)
        cycles.append(run_cycle(cluster, program)[1])
    result = Result("snapshot", parameters, min(opens), 0, 0.0, {"open": min(opens), "idle_cycle": min(cycles)})
    result.runs = cycles
    return [finished(result)]


def growth(parameters: Parameters, runs: int) -> list[Result]:
    """The same pods on a small and on a ten times larger cluster."""
    small = _ordinary("growth", 10)({"nodes": parameters["nodes"], "pods": parameters["pods"]}, runs)[0]
    large = _ordinary("growth", 10)({"nodes": parameters["nodes"] * 10, "pods": parameters["pods"]}, runs)[0]
    large.more = {"times_slower": large.seconds / small.seconds}
    return [small, large]


WORKLOADS: dict[str, tuple[Workload, Parameters, str]] = {
    "basic": (_ordinary("basic", 10), {"nodes": 5_000, "pods": 50_000}, "jobs of ten, all or nothing"),
    "gang": (gang, {"nodes": 1_000}, "one gang of 32 tasks per node, and other shapes"),
    "huge": (_ordinary("huge", 10), {"nodes": 100_000, "pods": 100_000}, "very many nodes"),
    "single": (_ordinary("single", 1), {"nodes": 5_000, "pods": 50_000}, "jobs of one pod"),
    "turns": (_ordinary("turns", 10, 1), {"nodes": 5_000, "pods": 50_000}, "jobs of ten that start with one"),
    "queues": (queues, {"nodes": 1_000, "queues": 1_000, "pods": 50_000}, "very many queues"),
    "backlog": (backlog, {"nodes": 5_000, "pods": 10_000}, "pods that fit among as many that never will"),
    "snapshot": (snapshot, {"nodes": 10_000, "pods": 100_000}, "an idle cycle in a large cluster"),
    "hostile": (
        hostile.hostile,
        {"nodes": 1_000, "pods": 5_000},
        "families of hostile objects beside ordinary tenants, with a probe gang",
    ),
    "embedded": (local_cluster.embedded, {"nodes": 1_000, "pods": 10_000}, "a whole cluster over HTTP in one process"),
    "ingest": (local_cluster.ingest, {"events": 40_000}, "events of a watch, ingested by the cache"),
    "start": (
        local_cluster.start,
        {"nodes": 5_000, "pods": 50_000},
        "from the start of the process to the first decision in a full cluster",
    ),
    "live": (live.live, {"nodes": 1_000, "pods": 10_000}, "stromboli plan -f job.yaml in a full cluster"),
    "job-list": (job_list.job_list, {"jobs": 10_000}, "stromboli jobs with very many jobs"),
    "console": (
        console.console,
        {"nodes": 1_000, "pods": 10_000, "jobs": 10_000},
        "memory and processor time of the web console, at rest and with changes",
    ),
    "job-controller": (job_controller.embedded, {"jobs": 1_000}, "Volcano Jobs that are submitted at once"),
    "job-controller-real": (job_controller.real, {"jobs": 1_000}, "the same on a real API server"),
    "idle": (local_cluster.idle, {"nodes": 1_000}, "an idle cluster"),
    "e2e": (
        api_server.e2e,
        {"nodes": 500, "pods": 3_000},
        "a real API server, beside its own limit and kube-scheduler",
    ),
    "binder": (
        binder.binder,
        {"nodes": 500, "pods": 3_000, "members": 5_000},
        "bind requests and a binder on a real API server, beside direct binding",
    ),
    "scale": (
        scale.scale,
        {"nodes": 500},
        "the situations of KAI's published scale results on a real API server",
    ),
    "soak": (soak.soak, {"minutes": 30}, "memory of processes while gangs arrive and end"),
    "reclaim": (contention.reclaim, {"nodes": 5_000}, "a gang that reclaims a tenth of a full cluster for its queue"),
    "consolidate": (
        contention.consolidate,
        {"nodes": 1_000},
        "a gang for which other pods have to move closer together",
    ),
    "contended-days": (
        contended_days.contended_days,
        {"days": 100, "nodes": 8},
        "random days of queues that reclaim, and the work lost by evictions",
    ),
    "fairshare": (
        fairshare.fairshare,
        {"nodes": 1_000, "pods": 8_000, "queues": 90},
        "a cycle that heeds past usage of queues and users, and one that does not",
    ),
    "preempt": (contention.preempt, {"nodes": 5_000}, "an urgent pod for every node of a full cluster"),
    "arrangement": (
        quality.arrangement,
        {"worlds": 200},
        "gangs that wait in small random worlds although an arrangement exists",
    ),
    "victims": (
        quality.victims,
        {"worlds": 200},
        "victims in small random worlds, compared with the optimum",
    ),
    "environment": (
        environment.environment,
        {"steps": 20_000, "nodes": 16},
        "steps of the environment of Gymnasium",
    ),
    "ledger": (
        ledger.ledger,
        {"jobs": 1_000_000},
        "the usage ledger of a history of a million jobs",
    ),
    "forecast": (
        forecast.forecast,
        {"clusters": 60},
        "expected starts of waiting jobs, compared with the starts that follow",
    ),
    "large-forecast": (
        forecast.large_forecast,
        {"nodes": 5_000, "waiting": 200, "scenarios": 2},
        "the time of a scenario of a forecast in a large cluster",
    ),
    "simulate": (
        simulate.simulate,
        {"nodes": 1_000, "pods": 10_000, "jobs": 50_000},
        "traces in virtual time: short jobs, gangs, and a day with each backfill strategy",
    ),
    "topology": (topology.topology, {"nodes": 5_000}, "jobs that want their nodes close together"),
    "turnover": (
        topology.busy_racks,
        {"nodes": 640, "racks": 10, "workloads": 15_000},
        "short workloads in racks that stay busy",
    ),
    "churn": (churn.churn, {"nodes": 5_000, "waiting": 5_000}, "changes in a full cluster with many waiting jobs"),
    "growth": (growth, {"nodes": 1_000, "pods": 10_000}, "ten times the nodes"),
}
