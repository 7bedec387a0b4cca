"""A trace as a workload: the cluster that exists from the start, and the jobs, read as they are submitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli import kube
from stromboli.simulator.traced.layouts import POOL, JobLayout
from stromboli.simulator.traced.nodes import node_objects, nodes_of_trace, one_pool, trace_nodes
from stromboli.simulator.traced.objects import queue_of
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.simulator.workload import BEGINNING
from stromboli.traces.rejects import RejectedRows
from stromboli.traces.trace import PENDING, Trace, TraceError, TraceJob, TraceNode, in_order


class TracedWorkload:
    """Jobs that cannot be simulated are rejected by rule, as invalid rows are."""

    def __init__(
        self,
        trace: Trace,
        options: ReplayOptions,
        nodes: Sequence[TraceNode] = (),
        objects: Sequence[kube.KubeObject] = (),
    ) -> None:
        """`nodes` replace those of the trace; `objects` exist from the start, and their nodes replace all others.

        Raises TraceError.
        """
        own = trace_nodes(objects)
        self.nodes: Sequence[TraceNode] = own or nodes or nodes_of_trace(trace)
        if options.layout == POOL:
            if own:
                raise TraceError("a pool is one node made of all; it cannot be made of the nodes of manifests")
            self.nodes = one_pool(self.nodes)
        self._trace, self._options = trace, options
        self._layout = JobLayout(options.layout, self.nodes)
        #: Seconds since the epoch.
        self.start = BEGINNING if trace.header.start is None else trace.header.start
        self.objects = [*objects, *([] if own else node_objects(self.nodes))]
        queues = [entry for entry in objects if isinstance(entry, kube.KubeQueue)]
        self.weights = {entry.metadata.name: float(entry.spec.weight or 1) for entry in queues}

    @property
    def source(self) -> str:
        return self._trace.source

    @property
    def rejected(self) -> RejectedRows:
        return self._trace.rejected

    def queue_of(self, job: TraceJob) -> str:
        return queue_of(job, self._options.queues)

    def jobs(self) -> Iterator[TraceJob]:
        """Yield the jobs with the pods of their layout, in order. Raises TraceError, also for a trace without jobs."""
        accepted = 0
        for number, job in enumerate(in_order(self._trace.source, self._trace.jobs())):
            if number == self._options.jobs:
                break
            arranged = self._layout.arrange(job)
            if not self._is_rejected(arranged):
                accepted += 1
                yield arranged
        if not accepted:
            raise TraceError(f"{self._trace.source}: no jobs{_reasons(self._trace.rejected)}")

    def _is_rejected(self, job: TraceJob) -> bool:
        place = f"{self._trace.source}:{job.line}" if job.line else self._trace.source
        if excess := self._layout.excess(job):
            self._trace.rejected.add("larger than the cluster", place, excess)
        elif job.run_time is None and job.status == PENDING:
            self._trace.rejected.add("never scheduled", place, f"job {job.name} has no run time")
        else:
            return False
        return True


def _reasons(rejected: RejectedRows) -> str:
    """Return why a trace has no jobs."""
    warnings = "; ".join(rejected.warnings())
    return f": {warnings}" if warnings else "; a trace has at least one"
