"""The shared GPUs of one node, and the shares that pods hold.

The state is immutable: taking or leaving a share makes a new one, and undo restores the old one. A GPU in use by
shares is unavailable as a whole GPU; what its shares leave unused is the *slack* that the node's amounts do not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.core.model.devices.shared_devices import SharedDeviceRequest


class Stay(Enum):
    """The state of a share: held, being released, or waited for."""

    PRESENT = "present"
    LEAVING = "leaving"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class GpuHolding:
    """The allocation of a pod: an amount of each of these groups."""

    groups: tuple[str, ...]
    #: The amount of each group, in the unit of the node.
    need: int
    #: The amount accounted on the node for the pod, in thousandths of GPUs.
    charge: int
    stay: Stay = Stay.PRESENT


class NodeShares:
    """The GPU groups of a node, now and after all terminating pods are gone."""

    __slots__ = (
        "holdings", "later_groups", "later_slack", "memory", "now_groups", "reservations", "size", "slack",
        "unreserved", "used",
    )  # fmt: skip

    def __init__(
        self,
        memory: int = 0,
        holdings: Mapping[str, GpuHolding] | None = None,
        reservations: Mapping[str, bool] | None = None,
    ) -> None:
        #: Memory of each GPU in MiB; 0 if the node does not report it.
        self.memory = memory
        #: A whole device in the unit of shares: thousandths of a device, or of a MiB if the memory is known.
        self.size = WHOLE * memory or WHOLE
        self.holdings: Mapping[str, GpuHolding] = holdings or {}
        #: By group, whether the pod that holds its device is leaving.
        self.reservations: Mapping[str, bool] = reservations or {}
        present = [each for each in self.holdings.values() if each.stay is not Stay.WAITING]
        staying = [each for each in self.holdings.values() if each.stay is not Stay.LEAVING]
        #: The devices shared now, with members or not; and later, when reservations without members are gone.
        self.now_groups = _groups(present) | self.reservations.keys()
        self.later_groups = _groups(staying)
        #: The unusable part of the node's GPUs that its amounts do not show, in thousandths.
        self.slack = WHOLE * len(self.now_groups) - sum(each.charge for each in present)
        self.later_slack = WHOLE * len(self.later_groups) - sum(each.charge for each in staying)
        #: The use of each group, now and later: for pods placed now, present and nominated pods count.
        self.used = _uses(self.holdings.values()), _uses(staying)
        #: The number of groups whose reservation pod is missing and needs a pod slot on the node; now and later.
        self.unreserved = tuple(len(each - self.reservations.keys()) for each in (self.now_groups, self.later_groups))

    def with_holding(self, uid: str, holding: GpuHolding) -> NodeShares:
        return NodeShares(self.memory, {**self.holdings, uid: holding}, self.reservations)

    def without(self, uid: str) -> NodeShares:
        left = {other: held for other, held in self.holdings.items() if other != uid}
        return NodeShares(self.memory, left, self.reservations)

    def with_stay(self, uid: str, stay: Stay) -> NodeShares:
        return self.with_holding(uid, replace(self.holdings[uid], stay=stay))

    def joinable(self, need: int, *, later: bool) -> dict[str, int]:
        """Return the groups with this much capacity left, and the use of each."""
        used = self.used[later]
        groups = self.later_groups if later else self.now_groups
        headroom = self.size - need
        return {
            group: taken
            for group in groups
            if (taken := used.get(group, 0)) <= headroom and (later or not self.reservations.get(group, False))
        }


def _groups(holdings: Iterable[GpuHolding]) -> set[str]:
    return {group for holding in holdings for group in holding.groups}


def _uses(holdings: Iterable[GpuHolding]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for holding in holdings:
        for group in holding.groups:
            uses[group] = uses.get(group, 0) + holding.need
    return uses


PACK, SPREAD = "gpupack", "gpuspread"


class GpuHeadroom(NamedTuple):
    """The capacity of a node besides its groups: whole GPUs and slots for reservation pods, now or later."""

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
