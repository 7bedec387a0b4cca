"""Volcano's dashboards find what they query: every metric, with its type and exactly its labels, after a real run.

The facts are those of Volcano: of its scheduler's metrics, and of the queries in the dashboards of its chart (global,
namespace and queue overview) and of its benchmark. Panels about `kube_` metrics read kube-state-metrics.
"""

from __future__ import annotations

import pytest

from stromboli.observability.metrics.scheduler import SchedulerMetrics
from tests.integration.deploy.exposed import Exposed
from tests.integration.deploy.expressions import taken_apart
from tests.integration.deploy.mistakes import mistakes
from tests.testing.exposition import exposed_samples, exposed_types

LATENCY, DURATION = "volcano_e2e_job_scheduling_latency_milliseconds_bucket", "volcano_e2e_job_scheduling_duration"
CYCLE = "volcano_e2e_scheduling_latency_milliseconds_bucket"

QUERIES = {
    "global: heat map of latencies": f"increase({LATENCY}[1h])",
    "global: duration by queue": f"avg by (queue) ({DURATION})",
    "global: duration by namespace": f"avg by (job_namespace) ({DURATION})",
    "global: jobs": f"increase({DURATION}[24h]) != 0",
    "global: variation": f"stddev({DURATION}) / avg({DURATION})",
    "namespace: jobs": f'increase({DURATION}{{job_namespace="default"}}[24h]) != 0',
    "queue: jobs": f'increase({DURATION}{{queue="gold"}}[24h]) != 0',
    "queue: the variable": "count by (queue_name) (volcano_queue_share)",
    "benchmark: median of cycles": f"histogram_quantile(0.5, rate({CYCLE}[1m]))",
    "benchmark: slowest cycles": f"histogram_quantile(0.99, rate({CYCLE}[1m]))",
    "benchmark: jobs": f'{DURATION}{{job_namespace="default"}}',
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_query_selects_what_exists(query: str, scheduler_metrics: Exposed) -> None:
    assert list(mistakes(query, scheduler_metrics)) == []
    assert {metric for metric, _ in taken_apart(query).metrics} <= scheduler_metrics.keys()


QUEUE, RESOURCE, JOB = {"queue_name"}, {"queue_name", "resource"}, {"job_name", "queue", "job_namespace"}
#: Type, and labels apart from `le`.
METRICS = {
    "e2e_scheduling_latency_milliseconds": ("histogram", set()),
    "open_session_duration_milliseconds": ("histogram", set()),
    "e2e_job_scheduling_latency_milliseconds": ("histogram", set()),
    "e2e_job_scheduling_duration": ("gauge", JOB),
    "e2e_job_scheduling_start_time": ("gauge", JOB),
    "e2e_job_scheduling_last_time": ("gauge", JOB),
    "plugin_scheduling_latency_milliseconds": ("histogram", {"plugin", "OnSession"}),
    "action_scheduling_latency_milliseconds": ("histogram", {"action"}),
    "task_scheduling_latency_milliseconds": ("histogram", {"stage"}),
    "scheduling_stage_duration_milliseconds": ("histogram", {"stage"}),
    "schedule_attempts_total": ("counter", {"result"}),
    "pod_preemption_victims": ("gauge", set()),
    "total_preemption_attempts": ("counter", set()),
    "eviction_transactions_total": ("counter", {"action"}),
    "unschedule_task_count": ("gauge", {"job_id"}),
    "unschedule_job_count": ("gauge", set()),
    "job_retry_counts": ("counter", {"job_id"}),
    "job_share": ("gauge", {"job_ns", "job_id"}),
    "namespace_share": ("gauge", {"namespace_name"}),
    "namespace_weight": ("gauge", {"namespace_name"}),
    "namespace_weighted_share": ("gauge", {"namespace_name"}),
    **{f"queue_{kind}": ("gauge", QUEUE) for kind in ("share", "weight", "overused")},
    **{
        f"queue_{kind}_{unit}": ("gauge", RESOURCE if unit == "scalar_resources" else QUEUE)
        for kind in ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")
        for unit in ("milli_cpu", "memory_bytes", "scalar_resources")
    },
}


@pytest.mark.parametrize(("name", "expected"), METRICS.items(), ids=METRICS)
def test_metric_has_the_type_and_labels_of_volcano(
    name: str, expected: tuple[str, set[str]], worked_scheduler: SchedulerMetrics
) -> None:
    text = worked_scheduler.render()[0].decode()
    parts = {f"volcano_{name}{suffix}" for suffix in ("", "_bucket", "_sum", "_count")}
    labels = {frozenset(sample.labels) - {"le"} for sample in exposed_samples(text) if sample.name in parts}
    assert exposed_types(text)[f"volcano_{name}"] == expected[0]
    assert labels == {frozenset(expected[1])}


def test_no_other_metric_has_the_prefix_of_volcano(worked_scheduler: SchedulerMetrics) -> None:
    names = {name for name in exposed_types(worked_scheduler.render()[0].decode()) if name.startswith("volcano_")}
    created = {name for name in names if name.endswith("_created")}
    assert names - created == {f"volcano_{name}" for name in METRICS}
