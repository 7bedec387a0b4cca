"""What a living scheduler exposes: metrics, their labels, and the values these had."""

from __future__ import annotations

from stromboli.admission.metrics import AdmissionMetrics
from stromboli.observability.endpoints import MetricsRenderer
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from tests.testing.cases.case import STANDARD
from tests.testing.exposition import exposed_samples
from tests.testing.manifests.builders import gang, queue
from tests.testing.world import cpus, policy_of, running_cluster

#: By metric, by label, the values that were seen.
Exposed = dict[str, dict[str, set[str]]]

CAPABILITY = {"cpu": "8", "memory": "64Gi", "example.com/gpu": "4"}


async def scheduler_after_work() -> SchedulerMetrics:
    """A gang starts, and another one waits."""
    metrics = SchedulerMetrics()
    metrics.invalid_object("Pod")  # a correct server sends no invalid objects
    metrics.forecasts.update([("gold", 60.0)], 0.0)  # a forecast is a process of its own
    async with running_cluster(cpus(2), starts=False, policy=policy_of(STANDARD)) as world:
        await world.start(metrics=metrics)
        await world.create(queue("gold", capability=CAPABILITY), gang(2, 1, name="starts", queue="gold"))
        await world.until_bound("starts", 2)
        await world.create(gang(1, 6, name="waits", queue="gold"))
        await world.until_condition("waits", "Insufficient cpu")
        await world.cycles()
        return metrics


def webhook_metrics() -> AdmissionMetrics:
    """Return the metrics of a webhook that has reviewed something."""
    metrics = AdmissionMetrics()
    metrics.reviewed("Pod", "CREATE", allowed=True)
    metrics.answered("validate", 0.01)
    return metrics


def read(metrics: MetricsRenderer) -> Exposed:
    """Read the metrics as a Prometheus server reads them."""
    found: Exposed = {}
    for sample in exposed_samples(metrics.render()[0].decode()):
        labels = found.setdefault(sample.name, {})
        for label, value in sample.labels.items():
            labels.setdefault(label, set()).add(value)
    return found
