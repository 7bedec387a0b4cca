"""Keys that wait, in groups that take turns: a group with many keys delays no other by more than one of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class FairKeys(Collection[K], Generic[K]):
    """Iterates with the next key first; within a group in order of arrival. Without `group`, all are in one."""

    def __init__(self, group: Callable[[K], Hashable] | None = None) -> None:
        self._group = group
        self._places: dict[K, Hashable] = {}
        #: In the order of their turns.
        self._groups: OrderedDict[Hashable, OrderedDict[K, None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[K]:
        for keys in self._groups.values():
            yield from keys

    def add(self, key: K) -> bool:
        """Add a key, or move it if its group has changed; report whether it was not present."""
        group = self._group(key) if self._group is not None else None
        is_new = key not in self._places
        if not is_new:
            if self._places[key] == group:
                return False
            self.discard(key)
        self._places[key] = group
        self._groups.setdefault(group, OrderedDict())[key] = None
        return is_new

    def take(self, key: K) -> None:
        """Remove a key that is processed: its group has had its turn."""
        group = self._places[key]
        self.discard(key)
        if group in self._groups:
            self._groups.move_to_end(group)

    def discard(self, key: K) -> None:
        if key not in self._places:
            return
        group = self._places.pop(key)
        del self._groups[group][key]
        if not self._groups[group]:
            del self._groups[group]
