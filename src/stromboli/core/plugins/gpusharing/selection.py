"""Which GPUs of a node a pod gets its shares of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.core.model.devices.shared_devices import SharedDeviceRequest
from stromboli.core.plugins.gpusharing.node_shares import NodeShares

PACK, SPREAD = "gpupack", "gpuspread"


class GpuHeadroom(NamedTuple):
    """What a node has besides its groups: whole GPUs and slots for reservation pods, now or later."""

    gpus: int
    places: int
    #: Whether capacity is nominated: a group that ends before then must not be extended now.
    is_promised: bool = False


@dataclass(frozen=True, slots=True)
class GpuPick:
    """Groups to join, and how many GPUs are shared from now on that were not before."""

    joined: tuple[str, ...]
    fresh: int = 0


def need_of(request: SharedDeviceRequest, node: NodeShares) -> int | None:
    """Return the share of each device that a pod needs in the unit of the node; None if it cannot be computed."""
    if request.portion:
        return request.portion * node.size // WHOLE
    return request.memory * WHOLE if node.memory else None


def pick(
    node: NodeShares, request: SharedDeviceRequest, headroom: GpuHeadroom, policy: str, *, later: bool
) -> GpuPick | None:
    """Return as many different devices as a pod requests, fuller or emptier ones first; None if there are too few."""
    need = need_of(request, node)
    if need is None or need > node.size:
        return None
    joinable = node.joinable(need, later=later)
    if headroom.is_promised and not later:
        joinable = {group: used for group, used in joinable.items() if group in node.later_groups}
    sign = -1 if policy == PACK else 1
    #: An unshared GPU is the emptiest, and comes after one that is already reserved.
    fresh = max(min(headroom.gpus, headroom.places, request.number), 0)
    order = [(sign * used, False, group) for group, used in joinable.items()] + [(0, True, "")] * fresh
    chosen = sorted(order)[: request.number]
    if len(chosen) < request.number:
        return None
    joined = tuple(group for _, is_fresh, group in chosen if not is_fresh)
    return GpuPick(joined, request.number - len(joined))
