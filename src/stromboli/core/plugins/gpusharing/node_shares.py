"""The shared GPUs of one node, and who has how much of each.

Nothing here changes: whoever takes or leaves a share makes new books of the node, so undoing is putting back the old
ones. A GPU in use by shares is gone as a whole for those who want whole ones; what its members do not use of it is the
*slack* that the amounts of the node do not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from stromboli.core.model.devices.gpu_fractions import WHOLE


class Stay(Enum):
    """Whether a pod has its share, is leaving it, or waits for it."""

    PRESENT = "present"
    LEAVING = "leaving"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Holding:
    """What a pod has: so much of each of these groups."""

    groups: tuple[str, ...]
    #: Of each, in the unit of the node.
    need: int
    #: What the node's amounts say that it uses, in thousandths of GPUs.
    charge: int
    stay: Stay = Stay.PRESENT


class NodeShares:
    """The groups of a node, now and once all who are leaving are gone."""

    __slots__ = (
        "holdings", "later_groups", "later_slack", "memory", "now_groups", "reservations", "size", "slack",
        "unreserved", "used",
    )  # fmt: skip

    def __init__(
        self,
        memory: int = 0,
        holdings: Mapping[str, Holding] | None = None,
        reservations: Mapping[str, bool] | None = None,
    ) -> None:
        #: Of each GPU, in MiB; 0 where the node does not say.
        self.memory = memory
        #: A whole device in the unit that shares are counted in: thousandths, of a MiB where that is known.
        self.size = WHOLE * memory or WHOLE
        self.holdings: Mapping[str, Holding] = holdings or {}
        #: By group, whether the pod that holds its device is leaving.
        self.reservations: Mapping[str, bool] = reservations or {}
        present = [each for each in self.holdings.values() if each.stay is not Stay.WAITING]
        staying = [each for each in self.holdings.values() if each.stay is not Stay.LEAVING]
        #: The devices that are shared now, members or not; and then, when a reservation without members will be gone.
        self.now_groups = _groups(present) | self.reservations.keys()
        self.later_groups = _groups(staying)
        #: What is gone of the node's GPUs beside what its amounts say, in thousandths.
        self.slack = WHOLE * len(self.now_groups) - sum(each.charge for each in present)
        self.later_slack = WHOLE * len(self.later_groups) - sum(each.charge for each in staying)
        #: What nobody may have of each group: for those who come now, all who are here or were promised to be count.
        self.used = _uses(self.holdings.values()), _uses(staying)
        #: How many groups have a reservation pod that needs a place on the node, too, and is not there; now and later.
        self.unreserved = tuple(len(each - self.reservations.keys()) for each in (self.now_groups, self.later_groups))

    def with_holding(self, uid: str, holding: Holding) -> NodeShares:
        return NodeShares(self.memory, {**self.holdings, uid: holding}, self.reservations)

    def without(self, uid: str) -> NodeShares:
        left = {other: held for other, held in self.holdings.items() if other != uid}
        return NodeShares(self.memory, left, self.reservations)

    def with_stay(self, uid: str, stay: Stay) -> NodeShares:
        return self.with_holding(uid, replace(self.holdings[uid], stay=stay))

    def joinable(self, need: int, *, later: bool) -> dict[str, int]:
        """The groups with room for so much more, and what is used of each."""
        used = self.used[later]
        groups = self.later_groups if later else self.now_groups
        room = self.size - need
        return {
            group: taken
            for group in groups
            if (taken := used.get(group, 0)) <= room and (later or not self.reservations.get(group, False))
        }


def _groups(holdings: Iterable[Holding]) -> set[str]:
    return {group for holding in holdings for group in holding.groups}


def _uses(holdings: Iterable[Holding]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for holding in holdings:
        for group in holding.groups:
            uses[group] = uses.get(group, 0) + holding.need
    return uses
