"""How the processors of a job become pods.

processors   as the trace has them: a job of N processors is N pods of one processor each
nodes        pods of a whole node each, as many as the processors of the job need
pool         one pod with everything, on one node that is the whole cluster
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stromboli.traces.trace import TraceError, TraceJob, TraceNode

PROCESSORS, NODES, POOL = LAYOUTS = ("processors", "nodes", "pool")


class JobLayout:
    """Changes jobs to the pods that they are simulated with, and tests whether these fit the cluster."""

    def __init__(self, layout: str, nodes: Sequence[TraceNode]) -> None:
        """Raises TraceError if the nodes do not suit the layout."""
        self._layout = layout
        self._node = nodes[0]
        if layout == NODES and any((node.cpu, node.memory) != (nodes[0].cpu, nodes[0].memory) for node in nodes):
            raise TraceError("pods of whole nodes need nodes of one size; choose another --layout")
        self.has_memory = any(node.memory for node in nodes)
        self._cpu = sum(node.cpu for node in nodes)
        self._gpu = sum(node.gpu for node in nodes)
        self._count = len(nodes)

    def arrange(self, job: TraceJob) -> TraceJob:
        """Return the job with the pods of the layout. Requests for memory of nodes without are left out."""
        memory = job.memory if self.has_memory else 0
        if self._layout == POOL:
            return msgspec.structs.replace(
                job, pods=1, cpu=job.pods * job.cpu, memory=job.pods * memory, gpu=job.pods * job.gpu
            )
        if self._layout == NODES:
            pods = max(-(-job.pods * job.cpu // self._node.cpu), -(-job.pods * job.gpu // max(self._node.gpu, 1)), 1)
            return msgspec.structs.replace(job, pods=pods, cpu=self._node.cpu, memory=0, gpu=self._node.gpu)
        return job if memory == job.memory else msgspec.structs.replace(job, memory=memory)

    def excess(self, job: TraceJob) -> str:
        """Return what an arranged job requests in total that the whole cluster does not have; empty if it fits."""
        for name, requested, capacity in (("cpu", job.cpu, self._cpu), ("GPUs", job.gpu, self._gpu)):
            if job.pods * requested > capacity:
                return f"job {job.name} requests {name} {job.pods * requested / 1000:g} of {capacity / 1000:g}"
        return ""
