"""The typical pods of a workload: the shapes of requests for GPUs, how many pods have each, and the nodes that accept
them.

They are the pods of the cluster, waiting and running, or those that the configuration declares. Rare shapes are left
out: they cost as much as popular ones and change no decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.core.model.devices.shared_devices import SharedDeviceRequest
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

MAX_SHAPES = 256
"""A bound on the work per node, whatever pods exist."""


def _quantity(text: str) -> int:
    return parse_quantity(text, milli=False)


def _milli(text: str) -> int:
    return parse_quantity(text, milli=True)


class DeclaredShape(Arguments):
    cpu: int = Argument("cpu", "0", "The cpu of a pod.", parse=_milli)
    memory: int = Argument("memory", "0", "Its memory.", parse=_quantity)
    gpus: int = Argument("gpus", "1", "Its GPUs; below 1 a fraction of one.", parse=_milli)
    pods: int = Argument("pods", 1, "How many pods have this shape, relative to the others.", minimum=1)


class GpuShape(NamedTuple):
    """What a pod requests. `portion` is its share of each of `number` GPUs, in thousandths."""

    cpu: int
    memory: int
    number: int
    portion: int


class ShapeTable:
    """Shapes as columns. Fractions of one GPU come first: what a node has for them depends on each of its GPUs."""

    def __init__(self, counted: Mapping[tuple[GpuShape, bytes], int], nodes: int) -> None:
        rows = sorted(counted.items(), key=lambda row: (row[0][0].portion == WHOLE, row[0]))
        shapes = [shape for (shape, _), _ in rows]
        columns = np.array(shapes, dtype=np.int64).reshape(len(shapes), 4)
        self.cpu, self.memory, self.number = (columns[:, [place]] for place in range(3))
        #: How many of the shapes are fractions, their distinct portions, and which of these each has.
        self.fractions = sum(shape.portion < WHOLE for shape in shapes)
        self.portions, self.portion_of = np.unique(columns[: self.fractions, 3], return_inverse=True)
        self.pods: Vector = np.array([count for _, count in rows], dtype=np.float64)
        self.total = float(self.pods.sum())
        accepted = b"".join(mask for (_, mask), _ in rows)
        self.accepted: Mask = np.frombuffer(accepted, dtype=np.bool_).reshape(len(shapes), nodes)
        #: The GPUs that the pods of each shape request together, in thousandths.
        self.demand: Vector = self.pods * columns[:, 2] * columns[:, 3]

    def __len__(self) -> int:
        return len(self.pods)


def shapes_of_session(session: Session, dimension: int, popularity: int) -> ShapeTable:
    """Return the shapes of the popular part, in percent, of the pods of the cluster."""
    classes = Counter(task.task_class for job in session.jobs.values() for task in job.tasks.values())
    counted: Counter[tuple[GpuShape, bytes]] = Counter()
    for task_class, number in classes.items():
        shape = _shape_of(task_class, dimension, session)
        if shape is not None:
            counted[shape, session.search.admitted_by_facts(task_class).tobytes()] += number
    return ShapeTable(popular_shapes(counted, popularity), len(session.nodes))


def declared_shapes(declared: Iterable[DeclaredShape], nodes: int) -> ShapeTable:
    """Return the shapes of the configuration. Every node accepts them."""
    everywhere = np.ones(nodes, dtype=np.bool_).tobytes()
    counted: Counter[tuple[GpuShape, bytes]] = Counter()
    for each in declared:
        number, rest = divmod(each.gpus, WHOLE)
        shape = GpuShape(each.cpu, each.memory, number, WHOLE) if number else GpuShape(each.cpu, each.memory, 1, rest)
        counted[shape, everywhere] += each.pods
    return ShapeTable(counted, nodes)


def gpus_of(task_class: TaskClass, dimension: int, request: SharedDeviceRequest | None) -> tuple[int, int] | None:
    """Return the number of GPUs that pods of a class request, and how much of each; None for none."""
    amount = dict(task_class.request).get(dimension, 0)
    if request is None:
        return (-(-amount // WHOLE), WHOLE) if amount else None
    return request.number, request.portion or (amount // request.number if request.number else 0)


def _shape_of(task_class: TaskClass, dimension: int, session: Session) -> GpuShape | None:
    shared = session.shared_gpus
    found = gpus_of(task_class, dimension, shared.request_of(task_class) if shared else None)
    if found is None:
        return None
    requested = dict(task_class.request)
    return GpuShape(requested.get(CPU, 0), requested.get(MEMORY, 0), *found)


def popular_shapes(counted: Counter[tuple[GpuShape, bytes]], percent: int) -> Mapping[tuple[GpuShape, bytes], int]:
    """Return the most frequent shapes until they make up this part of all pods."""
    ordered: Sequence[tuple[tuple[GpuShape, bytes], int]] = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    enough, sum_so_far, kept = counted.total() * percent, 0, dict[tuple[GpuShape, bytes], int]()
    for key, number in ordered[:MAX_SHAPES]:
        if sum_so_far * 100 >= enough:
            break
        kept[key] = number
        sum_so_far += number
    return kept
