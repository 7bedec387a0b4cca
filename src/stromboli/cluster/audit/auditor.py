"""The audit: does the accounting match the objects?

A full audit builds a second cluster from the objects and compares everything; it serves tests and diagnosis. A partial
audit recounts some pods, nodes, jobs and sums, which takes milliseconds: a live scheduler does this between cycles and
eventually covers everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from stromboli.cluster.audit.differences import MAX_DIFFERENCES, Difference, difference, differences
from stromboli.cluster.audit.recount import QUEUE_SUMS, Recount
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.state.cluster import Cluster

Part = TypeVar("Part")

#: Approximate number of pods that are recounted per kind of part between two cycles.
PODS_PER_SAMPLE = 64


def audit(cluster: Cluster, *, nodes: Iterable[str] | None = None) -> list[Difference]:
    """Differences between the accounting and the objects: of everything, or of these nodes and the jobs on them.

    The cluster is brought up to date and otherwise not modified.
    """
    found = _everything(cluster) if nodes is None else _around(Recount(cluster), list(nodes))
    return list(islice(found, MAX_DIFFERENCES))


def _everything(cluster: Cluster) -> Iterator[Difference]:
    classifier = cluster.decoder.classifier
    fresh = current_view(cluster_with(contents_of(cluster), classifier.labels, classifier.annotations))
    kept = current_view(cluster)
    yield from differences(summary_of(fresh), summary_of(kept, fresh.terms.counted))


def _around(recount: Recount, nodes: Collection[str]) -> Iterator[Difference]:
    jobs = dict.fromkeys(record.job for name in nodes for record in recount.pods_occupying(name) if record.job)
    for name in nodes:
        yield from recount.check_node(name)
    for key in jobs:
        yield from recount.check_pods(recount.members(key))
        yield from recount.check_job(key)


class Auditor:
    """Audits a cluster part by part: each sample continues after the previous one and wraps around.

    A job that is much larger than a sample is skipped, because recounting it would delay the scheduler; its pods are
    sampled like all others, and its counters are compared by the full audit.
    """

    def __init__(self, cluster: Cluster, *, pods: int = PODS_PER_SAMPLE) -> None:
        self._cluster = cluster
        self._pods = pods
        self._places: Counter[str] = Counter()

    def sample(self) -> list[Difference]:
        """Recount the next part. Accounting that cannot be recounted is inconsistent as well."""
        try:
            return list(islice(self._checks(Recount(self._cluster)), MAX_DIFFERENCES))
        except Exception as error:
            return [difference("audit", "completed", f"{type(error).__name__}: {error}")]

    def _checks(self, recount: Recount) -> Iterator[Difference]:
        """Some pods, some nodes, some jobs, one sum of one queue."""
        cluster_state, records = recount.cluster_state, recount.records
        sums = [(name, part) for name in cluster_state.sums.usage for part in QUEUE_SUMS]
        for uid in self._next("pods", records, lambda _: 1):
            yield from recount.check_pods([records[uid]])
        for node in self._next("nodes", cluster_state.table.names, lambda name: len(recount.pods_occupying(name))):
            yield from recount.check_node(node)
        for key in self._next("jobs", cluster_state.jobs, lambda key: len(cluster_state.jobs[key].tasks)):
            yield from recount.check_job(key)
        for name, part in self._next("sums", sums, lambda _: self._pods):  # one sum fills a sample
            yield from recount.check_queue(name, part)

    def _next(self, what: str, parts: Collection[Part], size: Callable[[Part], int]) -> list[Part]:
        start = self._places[what] if self._places[what] < len(parts) else 0
        chosen, pods, passed = [], 0, 0
        for part in islice(parts, start, None):
            more = size(part)
            if more > 2 * self._pods:
                passed += 1
                continue
            if pods and pods + more > self._pods:
                break
            chosen.append(part)
            pods += more + 1
            passed += 1
        self._places[what] = start + passed
        return chosen
