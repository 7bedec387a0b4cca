"""The numbers say what happened, in Volcano's words and in ours, and forget what is gone."""

from __future__ import annotations

import time

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.observability.metrics.scheduler import CycleSeconds, SchedulerMetrics
from tests.testing.cases.case import BUILT_IN, Case, configuration
from tests.testing.exposition import exposed_value as value
from tests.testing.exposition import exposed_values as exported
from tests.testing.manifests.builders import gang
from tests.testing.manifests.hypernodes import HARD_RACK, SOFT, TREE
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program, world_of

SPENT = CycleSeconds(snapshot=0.001, opening=0.002, commit=0.003, total=0.05)
ONE_CPU = objects.template({"cpu": "1", "memory": "1Gi"})
THREE_CPUS = objects.template({"cpu": "3", "memory": "1Gi"})
NODES = [objects.node(name, {"cpu": "2", "memory": "8Gi", "pods": "10", "example.com/gpu": "1"}) for name in "ab"]


def session_of(given: list[KubeObject]) -> Session:
    world = world_of(given)
    session = Session(world.snapshot(), default_program(), stopwatch=time.perf_counter)
    session.run()
    return session


@pytest.fixture
def metrics() -> SchedulerMetrics:
    found = SchedulerMetrics()
    created = "1970-01-01T00:00:00Z"
    given = [
        *NODES,
        objects.queue("gold", weight=3, capability={"cpu": "8"}, created="1970-01-01T00:00:10Z"),
        *objects.gang("fits", 3, ONE_CPU, queue="gold", phase="Inqueue", created=created),
        *objects.gang("waits", 5, ONE_CPU, queue="gold", phase="Inqueue"),
    ]
    found.observe_cycle(session_of(given), SPENT)
    return found


OPENED = {"plugin": "drf", "OnSession": "OnSessionOpen"}
FITS = {"job_name": "fits", "queue": "gold", "job_namespace": "team"}
CYCLE = {
    "whole cycle": ("volcano_e2e_scheduling_latency_milliseconds_sum", {}, 50.0),
    "opening": ("volcano_open_session_duration_milliseconds_sum", {}, 3.0),
    "action": ("volcano_action_scheduling_latency_milliseconds_count", {"action": "allocate"}, 1),
    "plugin": ("volcano_plugin_scheduling_latency_milliseconds_count", OPENED, 1),
    "phase": ("stromboli_cycle_phase_duration_seconds_sum", {"phase": "commit"}, 0.003),
    "all phases": ("stromboli_cycle_duration_seconds_sum", {}, 0.05),
    "result": ("stromboli_cycles_total", {"result": "completed"}, 1),
    "scheduled": ("volcano_schedule_attempts_total", {"result": "scheduled"}, 3),
    "unschedulable": ("volcano_schedule_attempts_total", {"result": "unschedulable"}, 5),
    "tasks decided on": ("volcano_task_scheduling_latency_milliseconds_count", {"stage": "Assumed"}, 3),
    "their latency": ("volcano_task_scheduling_latency_milliseconds_sum", {"stage": "Assumed"}, 30_000),
    "slow tasks": ("volcano_task_scheduling_latency_milliseconds_bucket", {"stage": "Assumed", "le": "+Inf"}, 3),
    "fast tasks": ("volcano_task_scheduling_latency_milliseconds_bucket", {"stage": "Assumed", "le": "50.0"}, 0),
    "job": ("volcano_e2e_job_scheduling_duration", FITS, 10_000),
    "waiting tasks": ("volcano_unschedule_task_count", {"job_id": "waits"}, 5),
    "waiting jobs": ("volcano_unschedule_job_count", {}, 1),
    "why they wait": ("stromboli_pending_jobs", {"queue": "gold", "reason": "ExceedsCluster"}, 1),
    "queue": ("volcano_queue_allocated_milli_cpu", {"queue_name": "gold"}, 3000),
    "queue's memory": ("volcano_queue_allocated_memory_bytes", {"queue_name": "gold"}, 3 << 30),
    "queue's others": ("volcano_queue_allocated_scalar_resources", {"queue_name": "gold", "resource": "pods"}, 3),
    "queue's ceiling": ("volcano_queue_capacity_milli_cpu", {"queue_name": "gold"}, 8000),
    "queue's weight": ("volcano_queue_weight", {"queue_name": "gold"}, 3),
    "no pod is evicted": ("volcano_pod_preemption_victims", {}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("name", "labels", "expected"), CYCLE.values(), ids=CYCLE)
def test_metrics_of_a_cycle(metrics: SchedulerMetrics, name: str, labels: dict[str, str], expected: float) -> None:
    assert value(metrics, name, **labels) == pytest.approx(expected)


def test_a_queue_with_all_that_it_is_promised_is_overused() -> None:
    program = Program(parse_configuration(configuration("gang", "capacity", "predicates"), BUILT_IN), BUILT_IN)
    queues = [objects.queue("rich", weight=1), objects.queue("poor", weight=1)]
    for queue in queues:
        queue.spec.deserved = {"cpu": "2"}
    jobs = [*objects.gang("fits", 3, ONE_CPU, queue="rich", minimum=1), *objects.gang("one", 1, ONE_CPU, queue="poor")]
    world = world_of([*NODES, *queues, *jobs], program)
    world.run_cycle()
    session = Session(world.snapshot(), program)
    session.run()
    metrics = SchedulerMetrics()
    metrics.observe_cycle(session, SPENT)
    exported = {name: value(metrics, "volcano_queue_overused", queue_name=name) for name in ("rich", "poor")}
    assert exported == {"rich": 1, "poor": 0}


def test_series_of_removed_objects_disappear(metrics: SchedulerMetrics) -> None:
    metrics.observe_cycle(session_of(list(NODES)), SPENT)
    labels = {label for _, pairs in exported(metrics) for label in pairs}
    assert not labels & {("queue_name", "gold"), ("job_id", "waits"), ("job_name", "fits"), ("queue", "gold")}
    assert value(metrics, "volcano_unschedule_job_count") == 0


def test_jobs_that_wait_on_are_counted_again(metrics: SchedulerMetrics) -> None:
    waiting = session_of([*NODES, *objects.gang("waits", 5, ONE_CPU, phase="Inqueue")])
    metrics.observe_cycle(waiting, SPENT)
    assert value(metrics, "volcano_job_retry_counts", job_id="waits") == 2


CORDONED = objects.node("c", {"cpu": "8", "memory": "8Gi"}, unschedulable=True)
WAITS = {
    "no node is large enough": (objects.gang("job", 1, THREE_CPUS, phase="Inqueue"), "ExceedsEveryNode"),
    "the cluster is not large enough": (objects.gang("job", 5, ONE_CPU, phase="Inqueue"), "ExceedsCluster"),
    "what most nodes say": ([CORDONED, *objects.gang("job", 1, THREE_CPUS, phase="Inqueue")], "InsufficientResource"),
    "queue at its limit": (
        [objects.queue("poor", capability={"cpu": "3"}), *objects.gang("job", 4, ONE_CPU, queue="poor")],
        "QueueCapabilityExceeded",
    ),
    "no share left": (
        [
            *(objects.queue(name) for name in ("left", "right")),
            *objects.gang("job", 4, ONE_CPU, queue="left", phase="Inqueue"),
            *objects.gang("other", 2, ONE_CPU, queue="right", phase="Inqueue"),
        ],
        "QueueShareExhausted",
    ),
    "pods are missing": (objects.gang("job", 2, ONE_CPU, minimum=5, phase="Inqueue"), "NotEnoughTasks"),
    "not let in": ([objects.group("job", min_member=1, min_resources={"cpu": "64"})], "ExceedsCluster"),
    "no pods yet": ([objects.group("job", min_member=1, phase="Inqueue")], "NoPodsYet"),
    "no such queue": (objects.gang("job", 1, ONE_CPU, queue="nowhere", phase="Inqueue"), "QueueUnknown"),
}


@pytest.mark.parametrize(("job", "reason"), WAITS.values(), ids=WAITS)
def test_pending_job_is_counted_by_its_reason_code(job: list[KubeObject], reason: str) -> None:
    metrics = SchedulerMetrics()
    metrics.observe_cycle(session_of([*NODES, *job]), SPENT)
    found = {labels: value for (name, labels), value in exported(metrics).items() if name == "stromboli_pending_jobs"}
    assert [(dict(labels)["reason"], value) for labels, value in found.items()] == [(reason, 1)]


def test_a_wait_is_counted_from_the_oldest_pod_without_a_node() -> None:
    metrics = SchedulerMetrics()
    waiting: list[KubeObject] = [objects.group("waits", min_member=1, phase="Inqueue", created="1970-01-01T00:00:00Z")]
    waiting += [objects.pod("old", THREE_CPUS, group="waits", created="1970-01-01T00:00:30Z")]
    waiting += [objects.pod("new", THREE_CPUS, group="waits", created="1970-01-01T00:01:30Z")]
    metrics.observe_cycle(session_of([*NODES, *waiting]), SPENT)
    assert value(metrics, "stromboli_longest_pending_seconds", queue="default") == 60
    metrics.observe_cycle(session_of(list(NODES)), SPENT)
    assert value(metrics, "stromboli_longest_pending_seconds", queue="default") is None


def test_the_number_of_series_has_a_limit() -> None:
    metrics = SchedulerMetrics(max_series=2)
    jobs = [entry for number in range(4) for entry in objects.gang(f"job-{number}", 5, ONE_CPU)]
    metrics.observe_cycle(session_of([*NODES, *jobs]), SPENT)
    assert len([name for name, _ in exported(metrics) if name == "volcano_unschedule_task_count"]) == 2
    left_out = value(metrics, "stromboli_metric_series_omitted")
    assert left_out is not None
    assert left_out >= 2


def test_metrics_of_the_process() -> None:
    metrics = SchedulerMetrics()
    metrics.bind_finished("bound", 0.02, waited=1.5, pods=4)
    metrics.bind_finished("rejected", 0.01, waited=-3.0)
    metrics.eviction_finished("evicted")
    metrics.events_dropped(2)
    metrics.watch_events("pods", 7)
    metrics.relisted("pods", 1)
    metrics.watch_failed("pods", 3)
    metrics.set_watch_up("pods", False)
    metrics.set_watch_staleness("pods", 12.5)
    metrics.api_requested("POST", "429", 2)
    metrics.invalid_object("Pod")
    metrics.resynced("bind-failed")
    metrics.cleaned_up("podgroup")
    metrics.audited("sample", 0.002, 1)
    metrics.set_cache_objects({"Pod": 12})
    metrics.set_pending_work("bind", 3)
    metrics.set_leader(True)
    metrics.configuration_loaded("rejected", 2)
    metrics.cycle_failed("plugin")
    expected = {
        ("stromboli_binds_total", (("result", "bound"),)): 4,
        ("stromboli_binds_total", (("result", "rejected"),)): 1,
        ("stromboli_bind_duration_seconds_count", (("result", "bound"),)): 4,
        ("volcano_task_scheduling_latency_milliseconds_count", (("stage", "Bound"),)): 4,
        ("volcano_scheduling_stage_duration_milliseconds_count", (("stage", "Bind"),)): 4,
        ("stromboli_evictions_total", (("result", "evicted"),)): 1,
        ("stromboli_events_dropped_total", ()): 2,
        ("stromboli_watch_events_total", (("resource", "pods"),)): 7,
        ("stromboli_watch_relists_total", (("resource", "pods"),)): 1,
        ("stromboli_watch_errors_total", (("resource", "pods"),)): 3,
        ("stromboli_watch_up", (("resource", "pods"),)): 0,
        ("stromboli_watch_staleness_seconds", (("resource", "pods"),)): 12.5,
        ("stromboli_api_requests_total", (("code", "429"), ("method", "POST"))): 2,
        ("stromboli_configuration_invalid", ()): 1,
        ("stromboli_configuration_warnings", ()): 2,
        ("stromboli_invalid_objects_total", (("kind", "Pod"),)): 1,
        ("stromboli_pod_resyncs_total", (("reason", "bind-failed"),)): 1,
        ("stromboli_cache_cleanups_total", (("kind", "podgroup"),)): 1,
        ("stromboli_cache_audits_total", (("kind", "sample"),)): 1,
        ("stromboli_cache_audit_differences_total", (("kind", "sample"),)): 1,
        ("stromboli_cache_objects", (("kind", "Pod"),)): 12,
        ("stromboli_work_pending", (("work", "bind"),)): 3,
        ("stromboli_leader", ()): 1,
        ("stromboli_configuration_reloads_total", (("result", "rejected"),)): 1,
        ("stromboli_cycles_total", (("result", "plugin"),)): 1,
    }
    found = exported(metrics)
    assert {key: found.get(key) for key in expected} == expected


def test_domains_of_the_network_that_were_passed_over_and_tried() -> None:
    conf = configuration("gang", "predicates", "network-topology-aware")
    metrics = SchedulerMetrics()
    for job in (gang(3, cpu=2, topology=SOFT), gang(2, cpu=2, topology=HARD_RACK), gang(9, cpu=2, topology=SOFT)):
        plan = Case("", TREE, job, binds="", conf=conf).plan()
        metrics.observe_cycle(plan.session, SPENT)
    assert value(metrics, "stromboli_topology_domains_total", outcome="skipped") == 4 + 0 + 7
    assert value(metrics, "stromboli_topology_domains_total", outcome="tried") == 1 + 1 + 0


def test_the_newer_text_is_spoken_too() -> None:
    text, content_type = SchedulerMetrics().render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")
