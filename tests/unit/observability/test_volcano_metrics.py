"""Metrics with Volcano's names: shares, real capacity, retries, evictions, and Volcano's types and bounds."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from stromboli import kube
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.kube.objects.cluster import ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus
from stromboli.observability.metrics.scheduler import CycleSeconds, SchedulerMetrics
from tests.testing.cases.case import Case, configuration
from tests.testing.exposition import exposed_samples, exposed_types, exposed_value, exposed_values
from tests.testing.manifests.builders import gang, node, priority_class, running
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program, world_of

SPENT = CycleSeconds(snapshot=0.001, opening=0.002, commit=0.003, total=0.05)
ONE_CPU = objects.template({"cpu": "1", "memory": "1Gi"})
NODES = [objects.node(name, {"cpu": "2", "memory": "8Gi", "pods": "10"}) for name in "ab"]
WAITS = objects.gang("waits", 5, ONE_CPU, queue="gold", phase="Inqueue")


def observe(metrics: SchedulerMetrics, *given: KubeObject) -> None:
    session = Session(world_of([*NODES, *given]).snapshot(), default_program())
    session.run()
    metrics.observe_cycle(session, SPENT)


def after(*given: KubeObject) -> SchedulerMetrics:
    metrics = SchedulerMetrics()
    observe(metrics, *given)
    return metrics


@pytest.fixture(scope="module")
def metrics() -> SchedulerMetrics:
    gold = objects.queue("gold", weight=3, capability={"cpu": "3"}, created="1970-01-01T00:00:10Z")
    silver = objects.queue("silver", guarantee=kube.Guarantee(resource={"memory": "4Gi"}))
    fits = objects.gang("fits", 3, ONE_CPU, queue="gold", phase="Inqueue", created="1970-01-01T00:00:00Z")
    return after(gold, silver, *fits, *WAITS)


VALUES = {
    "latency of jobs": ("volcano_e2e_job_scheduling_latency_milliseconds_sum", {}, 10_000),
    "latency by queue": ("stromboli_job_scheduling_duration_seconds_sum", {"queue": "gold"}, 10),
    "share of a job": ("volcano_job_share", {"job_ns": "team", "job_id": "fits"}, 0.75),
    "share of a waiting job": ("volcano_job_share", {"job_ns": "team", "job_id": "waits"}, 0),
    "share of a namespace": ("volcano_namespace_share", {"namespace_name": "team"}, 0.75),
    "weight of a namespace": ("volcano_namespace_weight", {"namespace_name": "team"}, 1),
    "weighted share": ("volcano_namespace_weighted_share", {"namespace_name": "team"}, 0.75),
    "retries": ("volcano_job_retry_counts", {"job_id": "waits"}, 1),
    "capability": ("volcano_queue_real_capacity_milli_cpu", {"queue_name": "gold"}, 3000),
    "guarantee of another queue": ("volcano_queue_real_capacity_memory_bytes", {"queue_name": "gold"}, 12 << 30),
    "guarantee of its own": ("volcano_queue_real_capacity_memory_bytes", {"queue_name": "silver"}, 16 << 30),
    "share of an idle queue": ("volcano_queue_share", {"queue_name": "silver"}, 0),
    "no decisions to evict yet": ("volcano_eviction_transactions_total", {"action": "gangpreempt"}, 0),
    "no cycle with evictions yet": ("volcano_total_preemption_attempts", {}, 0),
}


@pytest.mark.parametrize(("name", "labels", "expected"), VALUES.values(), ids=VALUES)
def test_value_after_a_cycle(metrics: SchedulerMetrics, name: str, labels: dict[str, str], expected: float) -> None:
    assert exposed_value(metrics, name, **labels) == pytest.approx(expected)


def test_series_of_a_job_disappear_with_it() -> None:
    metrics = after(objects.queue("gold"), *WAITS, *objects.gang("fits", 2, ONE_CPU))
    observe(metrics)
    labels = {label for _, pairs in exposed_values(metrics) for label in pairs}
    assert not labels & {("job_id", "waits"), ("job_id", "fits"), ("job_ns", "team"), ("namespace_name", "team")}


def test_retries_of_a_job_that_started_stay() -> None:
    metrics = after(objects.queue("gold"), *WAITS)
    observe(metrics, objects.queue("gold"), *objects.gang("waits", 3, ONE_CPU, queue="gold", phase="Inqueue"))
    assert exposed_value(metrics, "volcano_unschedule_task_count", job_id="waits") is None
    assert exposed_value(metrics, "volcano_job_retry_counts", job_id="waits") == 1


def test_jobs_of_one_name_in_two_namespaces_are_added() -> None:
    pods = {namespace: [objects.pod(f"job-{i}", ONE_CPU, group="job", namespace=namespace) for i in range(5)]
            for namespace in ("team", "other")}  # fmt: skip
    groups = [objects.group("job", namespace=namespace, min_member=5, phase="Inqueue") for namespace in pods]
    metrics = after(*groups, *flat(pods.values()))
    assert exposed_value(metrics, "volcano_unschedule_task_count", job_id="job") == 10
    assert exposed_value(metrics, "volcano_job_retry_counts", job_id="job") == 2


def flat(lists: Iterable[list[kube.Pod]]) -> list[kube.Pod]:
    return [each for one in lists for each in one]


@pytest.mark.parametrize("amount", ["allocated_milli_cpu", "request_milli_cpu", "weight"])
def test_root_queue_has_no_series_that_sums_would_count_twice(amount: str) -> None:
    metrics = after(objects.queue("root"), objects.queue("gold"), *objects.gang("fits", 3, ONE_CPU, queue="gold"))
    names = {
        dict(labels).get("queue_name") for name, labels in exposed_values(metrics) if name == f"volcano_queue_{amount}"
    }
    assert names == {"default", "gold"}


def test_decisions_to_evict_are_counted_by_action() -> None:
    metrics = SchedulerMetrics()
    conf = configuration("gang", "priority", "predicates", actions="enqueue, allocate, preempt")
    victims = [running("a", 2, name="one"), running("b", 2, name="two")]
    urgent = [gang(1, 2, name=name, priority="high") for name in ("first", "second")]
    cluster = [node("a", 2), node("b", 2), priority_class("high", 10)]
    metrics.observe_cycle(Case("", *cluster, *victims, *urgent, binds="", conf=conf).plan().session, SPENT)
    assert exposed_value(metrics, "volcano_eviction_transactions_total", action="preempt") == 2
    assert exposed_value(metrics, "volcano_eviction_transactions_total", action="reclaim") == 0
    assert exposed_value(metrics, "volcano_total_preemption_attempts") == 1


def test_weight_of_a_namespace_is_that_of_its_quota() -> None:
    hard: kube.Resources = {"volcano.sh/namespace.weight": "4"}
    quota = ResourceQuota(
        metadata=kube.ObjectMeta(name="quota", namespace="team", uid="quota"),
        spec=ResourceQuotaSpec(hard=hard),
        status=ResourceQuotaStatus(hard=hard),
    )
    metrics = after(quota, *objects.gang("fits", 2, ONE_CPU, phase="Inqueue"))
    assert exposed_value(metrics, "volcano_namespace_weight", namespace_name="team") == 4
    assert exposed_value(metrics, "volcano_namespace_weighted_share", namespace_name="team") == 0.125


def test_largest_shares_are_exposed_beyond_the_limit() -> None:
    metrics = SchedulerMetrics(max_series=2)
    jobs = [each for size in (1, 2, 0) for each in objects.gang(f"job-{size}", size or 9, ONE_CPU, phase="Inqueue")]
    observe(metrics, *jobs)
    shares = {dict(labels)["job_id"] for name, labels in exposed_values(metrics) if name == "volcano_job_share"}
    assert shares == {"job-1", "job-2"}


def test_types_are_those_of_volcano(metrics: SchedulerMetrics) -> None:
    types = exposed_types(metrics.render()[0].decode())
    counters = {name for name, kind in types.items() if name.startswith("volcano_") and kind == "counter"}
    assert counters == {
        "volcano_eviction_transactions_total", "volcano_job_retry_counts", "volcano_schedule_attempts_total",
        "volcano_total_preemption_attempts",
    }  # fmt: skip
    assert "untyped" not in types.values()


#: Lowest and highest bound in milliseconds, and their number.
BOUNDS = {
    "e2e_scheduling_latency": (1, 5000, 20),
    "open_session_duration": (1, 5000, 20),
    "action_scheduling_latency": (1, 2000, 20),
    "plugin_scheduling_latency": (0.1, 100, 15),
    "e2e_job_scheduling_latency": (100, 120_000, 30),
    "task_scheduling_latency": (50, 60_000, 30),
    "scheduling_stage_duration": (0.1, 500, 20),
}


@pytest.mark.parametrize(("name", "expected"), BOUNDS.items(), ids=BOUNDS)
def test_bounds_are_those_of_volcano(metrics: SchedulerMetrics, name: str, expected: tuple[float, float, int]) -> None:
    metrics.bind_finished("bound", 0.02, waited=1.5)
    samples = exposed_samples(metrics.render()[0].decode())
    found = {float(each.labels["le"]) for each in samples if each.name == f"volcano_{name}_milliseconds_bucket"}
    bounds = sorted(found - {float("inf")})
    assert [bounds[0], bounds[-1], len(bounds)] == pytest.approx(list(expected))


def test_latency_of_jobs_has_its_series_before_the_first_job() -> None:
    assert exposed_value(SchedulerMetrics(), "volcano_e2e_job_scheduling_latency_milliseconds_count") == 0
