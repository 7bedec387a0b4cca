"""How much of a node's free GPUs typical pods can use, for many nodes at once.

Amounts are integers, and so are sums over pods, which floating-point numbers hold exactly below 2**53: the result for a
node is the same in whatever company it is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.core.model.devices.shared_devices import SharedDeviceRequest
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.plugins.fragmentation.shapes import ShapeTable

Numbers = NDArray[np.int64]
_TAKEN = 2 * WHOLE


class PodRequest(NamedTuple):
    """What a pod requests: `portion` of each of `number` GPUs, in thousandths, for shares according to `shares`."""

    cpu: int
    memory: int
    number: int
    portion: int
    shares: SharedDeviceRequest | None

    @property
    def gpus(self) -> float:
        return self.number * self.portion / WHOLE


class FreeCapacity(NamedTuple):
    """What nodes have left: one column per node."""

    cpu: Numbers
    memory: Numbers
    #: GPUs that are entirely free.
    whole: Numbers
    #: What is left of each shared GPU in thousandths, one row per GPU; 0 where a node has fewer. The last row is 0.
    parts: Numbers

    @property
    def gpus(self) -> Numbers:
        """All free GPUs and parts of them, in thousandths."""
        total: Numbers = self.whole * WHOLE + self.parts.sum(axis=0)
        return total

    def without(self, pod: PodRequest, portions: Numbers | None, *, packs: bool) -> FreeCapacity:
        """Return what would be left with the pod on the node. `portions` are its shares of a GPU by node; None for
        whole GPUs. Shares of several GPUs are taken one after the other.
        """
        cpu, memory = self.cpu - pod.cpu, self.memory - pod.memory
        if portions is None:
            return FreeCapacity(cpu, memory, self.whole - pod.number, self.parts)
        whole, parts = self.whole, self.parts
        for _ in range(pod.number):
            whole, parts = _without_part(whole, parts, portions, packs=packs)
        return FreeCapacity(cpu, memory, whole, parts)


def stranded_gpus(pod: PodRequest, free: FreeCapacity) -> Vector:
    """Return by node how many GPUs more than the pod's would go with its part of the free cpu."""
    with_cpu = free.gpus * (pod.cpu / np.maximum(free.cpu, 1)) / WHOLE
    return np.maximum(with_cpu - pod.gpus, 0.0)


def _without_part(whole: Numbers, parts: Numbers, portion: Numbers, *, packs: bool) -> tuple[Numbers, Numbers]:
    """Take a share from the fullest GPU with enough left, otherwise from a free one; or the other way round."""
    if packs:
        chosen = np.where(parts >= portion, parts, _TAKEN).argmin(axis=0)
    else:
        chosen = np.where(whole > 0, len(parts) - 1, parts.argmax(axis=0))
    columns = np.arange(len(whole))
    is_shared = parts[chosen, columns] >= portion
    place = np.where(is_shared, chosen, len(parts) - 1)
    changed = np.vstack((parts, np.zeros_like(parts[:1])))
    changed[place, columns] += np.where(is_shared, 0, WHOLE) - portion
    return whole - ~is_shared, changed


def usable_gpus(shapes: ShapeTable, accepted: Mask, free: FreeCapacity) -> Vector:
    """Return for each node the sum over typical pods of the free GPUs, in thousandths, that the pod could use there."""
    fits = free.cpu >= shapes.cpu
    fits &= free.memory >= shapes.memory
    fits &= accepted
    amounts = np.empty(fits.shape)
    whole = free.whole * WHOLE
    fractions = shapes.fractions
    if fractions:
        np.take(_shared(shapes.portions, free.parts) + whole, shapes.portion_of, axis=0, out=amounts[:fractions])
    np.multiply(free.whole >= shapes.number[fractions:], whole, out=amounts[fractions:])
    amounts *= fits
    total: Vector = shapes.pods @ amounts
    return total


def _shared(portions: Numbers, parts: Numbers) -> Vector:
    """Return by portion and node what is left of the shared GPUs that have this much left."""
    total = np.zeros((len(portions), parts.shape[1]))
    for left in parts:
        if left.any():
            total += np.where(left >= portions[:, None], left, 0)
    return total
