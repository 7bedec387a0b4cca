"""Free GPUs that typical jobs could not use, over time.

The measure is that of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent"
(USENIX ATC 2023), as in the plugin `fragmentation`: for a pod, a free GPU of a node is fragmented if the pod cannot use
it, because the node lacks cpu or memory, or too few GPUs are free, or too little of a shared one. The fragmentation is
the mean over the pods of the trace, without the rarest twentieth. The models that pods accept are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.core.plugins.fragmentation.shapes import GpuShape, ShapeTable, popular_shapes
from stromboli.core.plugins.fragmentation.usable import FreeCapacity, usable_gpus
from stromboli.lab.measures.usage import spans_of
from stromboli.lab.measures.windows import Series, Windows
from stromboli.simulator.results.job_table import JobTable
from stromboli.simulator.results.run import SimulationRun

_POPULARITY = 95
Numbers = NDArray[np.int64]


def fragmentation_by_node(run: SimulationRun, windows: Windows) -> NDArray[np.float64]:
    """Return the fragmented GPUs of each node in the middle of each window."""
    shapes = _shapes_of(run.jobs, len(run.nodes))
    if not len(shapes):
        return np.zeros((len(run.nodes), len(windows)))
    columns = []
    for free in _states(run, windows.centres):
        usable = usable_gpus(shapes, shapes.accepted, free) / shapes.total
        columns.append(np.maximum(free.gpus - usable, 0.0) / WHOLE)
    return np.array(columns).T


def fragmentation_over_time(run: SimulationRun, windows: Windows) -> Series:
    """Return the fragmented part of all GPUs in the middle of each window."""
    gpus = sum(node.gpu for node in run.nodes) / WHOLE
    return np.asarray(fragmentation_by_node(run, windows).sum(axis=0) / max(gpus, 1), dtype=np.float64)


def _shapes_of(table: JobTable, nodes: int) -> ShapeTable:
    everywhere, counted = np.ones(nodes, dtype=np.bool_).tobytes(), Counter[tuple[GpuShape, bytes]]()
    columns = np.stack([table.column(name) for name in ("cpu", "memory", "gpu")], axis=1).astype(np.int64)
    kinds, kind_of_job = np.unique(columns, axis=0, return_inverse=True)
    pods = np.bincount(kind_of_job.ravel(), weights=table.column("pods"), minlength=len(kinds))
    for (cpu, memory, gpu), number in zip(kinds.tolist(), pods.tolist(), strict=True):
        if gpu:
            shape = GpuShape(cpu, memory, gpu // WHOLE, WHOLE) if gpu >= WHOLE else GpuShape(cpu, memory, 1, gpu)
            counted[shape, everywhere] += int(number)
    return ShapeTable(popular_shapes(counted, _POPULARITY), nodes)


class _FreeNodes:
    """What nodes have left while pods come and go."""

    def __init__(self, run: SimulationRun) -> None:
        self.cpu, self.memory, gpus = (
            np.array([getattr(node, name) for node in run.nodes], dtype=np.int64) for name in ("cpu", "memory", "gpu")
        )
        self.whole = gpus // WHOLE
        #: What is left of shared GPUs, and which rows of it have one.
        self.parts: Numbers = np.zeros((int(self.whole.max(initial=0)) + 1, len(run.nodes)), dtype=np.int64)
        self._taken = np.zeros(self.parts.shape, dtype=np.bool_)
        #: The row of each shared GPU, and how many pods share it.
        self._rows: dict[int, int] = {}
        self._members: Counter[int] = Counter()

    def free(self) -> FreeCapacity:
        return FreeCapacity(self.cpu, self.memory, self.whole, self.parts)

    def share(self, node: int, device: int, portion: int) -> None:
        """Let a pod take a portion of a shared GPU, or give a negative one back."""
        row = self._rows.get(device)
        if row is None:
            row = self._rows[device] = int(self._taken[:, node].argmin())
            self._hold(node, row, held=True)
        self._members[device] += 1 if portion > 0 else -1
        self.parts[row, node] -= portion
        if not self._members[device]:
            self._hold(node, row, held=False)
            del self._rows[device], self._members[device]

    def _hold(self, node: int, row: int, *, held: bool) -> None:
        self._taken[row, node] = held
        self.parts[row, node] = WHOLE if held else 0
        self.whole[node] += -1 if held else 1


def _states(run: SimulationRun, moments: Series) -> Iterator[FreeCapacity]:
    """Yield what nodes have left at each moment. Ends at a moment come before begins."""
    spans, table = spans_of(run), run.jobs
    pod_ends, nodes, devices = table.attempt_pods()
    attempts = np.repeat(np.arange(len(pod_ends)), np.diff(pod_ends, prepend=0))
    jobs = spans.jobs[attempts]
    cpu, memory, gpu = (table.column(name)[jobs].astype(np.int64) for name in ("cpu", "memory", "gpu"))
    whole = np.where(devices < 0, gpu // WHOLE, 0)
    times = np.concatenate((spans.ends[attempts], spans.begins[attempts]))
    order = np.argsort(times, kind="stable")
    places = np.searchsorted(times[order], moments, side="right")
    state, begin = _FreeNodes(run), 0
    for place in places.tolist():
        events = order[begin:place]
        pods, signs = events % len(jobs) if len(jobs) else events, np.where(events < len(jobs), 1, -1)
        for column, amounts in ((state.cpu, cpu), (state.memory, memory), (state.whole, whole)):
            np.add.at(column, nodes[pods], signs * amounts[pods])
        sharing = devices[pods] >= 0
        for pod, sign in zip(pods[sharing].tolist(), signs[sharing].tolist(), strict=True):
            state.share(int(nodes[pod]), int(devices[pod]), -sign * int(gpu[pod]))
        begin = place
        yield state.free()
