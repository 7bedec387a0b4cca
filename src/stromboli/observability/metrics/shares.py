"""Dominant shares of jobs and namespaces, under the names of Volcano's metrics.

They depend on all jobs, so they are computed when the metrics are read, not in the cycle.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.quota import Quota
from stromboli.core.model.resources.resources import Amounts, add_amounts, dominant_share
from stromboli.core.session.session import Session
from stromboli.observability.metrics.series import Labels

#: The entry of a ResourceQuota with the weight of its namespace; quotas count it in thousandths.
_NAMESPACE_WEIGHT = "volcano.sh/namespace.weight"


class ShareMetrics(Collector):
    """The shares of the last cycle. Safe to read from another thread: every cycle has its own dictionary of jobs."""

    def __init__(self, registry: CollectorRegistry, max_series: int) -> None:
        self._max_series = max_series
        self._last = _LastCycle({}, frozenset(), (), {})
        #: Namespaces beyond the limit when the metrics were last read.
        self._namespaces_omitted = 0
        registry.register(self)

    def update(self, session: Session) -> int:
        """Keep the jobs of a cycle; return the number of omitted series."""
        snapshot = session.snapshot
        self._last = _LastCycle(session.jobs, snapshot.foreign, session.shareable, snapshot.quotas)
        jobs_omitted = max(len(session.jobs) - len(snapshot.foreign) - self._max_series, 0)
        return jobs_omitted + self._namespaces_omitted

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Compute the shares; beyond the limit, the largest are exposed."""
        cycle = self._last
        shares = cycle.namespace_shares()
        self._namespaces_omitted = max(len(shares) - self._max_series, 0)
        weights = {namespace: cycle.weight_of(namespace) for namespace in shares}
        weighted = {namespace: share / weights[namespace] for namespace, share in shares.items()}
        labels = ("namespace_name",)
        yield self._family("job_share", "The dominant share of a job.", ("job_ns", "job_id"), cycle.job_shares())
        yield self._family("namespace_share", "The dominant share of a namespace's jobs.", labels, _keyed(shares))
        yield self._family("namespace_weight", "The weight of a namespace.", labels, _keyed(weights))
        yield self._family("namespace_weighted_share", "Its share divided by its weight.", labels, _keyed(weighted))

    def _family(
        self, name: str, documentation: str, labels: Sequence[str], values: Iterable[tuple[Labels, float]]
    ) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"volcano_{name}", documentation, labels=labels)
        for subject, value in nlargest(self._max_series, values, key=itemgetter(1)):
            family.add_metric(subject, value)
        return family


@dataclass(frozen=True, slots=True)
class _LastCycle:
    """What a cycle leaves behind for its shares."""

    jobs: Mapping[str, Job]
    foreign: Container[str]
    total: Sequence[int]
    quotas: Mapping[str, Sequence[Quota]]

    def own_jobs(self) -> Iterator[Job]:
        return (job for key, job in self.jobs.items() if key not in self.foreign)

    def job_shares(self) -> Iterator[tuple[Labels, float]]:
        size = len(self.total)
        for job in self.own_jobs():
            yield (job.spec.namespace, job.spec.name), dominant_share(job.allocated[:size], self.total)

    def namespace_shares(self) -> dict[str, float]:
        size = len(self.total)
        sums: dict[str, Amounts] = {}
        for job in self.own_jobs():
            add_amounts(sums.setdefault(job.spec.namespace, [0] * size), job.allocated[:size])
        return {namespace: dominant_share(allocated, self.total) for namespace, allocated in sums.items()}

    def weight_of(self, namespace: str) -> float:
        """Return the largest weight of the namespace's quotas; 1 without any."""
        weights = [quota.hard.get(_NAMESPACE_WEIGHT, 0) / 1000 for quota in self.quotas.get(namespace, ())]
        return max(weights, default=0.0) or 1.0


def _keyed(values: Mapping[str, float]) -> Iterator[tuple[Labels, float]]:
    return (((namespace,), value) for namespace, value in values.items())
