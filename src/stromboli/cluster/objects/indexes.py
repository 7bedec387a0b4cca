"""Indexes over pods and the claims that they use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from stromboli.core.model.tasks.placement import Placement


class ClaimUse(Protocol):
    """A claim that a pod uses."""

    @property
    def key(self) -> str: ...


Use = TypeVar("Use", bound=ClaimUse)
Needs = TypeVar("Needs")


def discard_member(index: dict[str, set[str]], key: str, member: str) -> None:
    """Remove a member, and the set of the key if it is empty then."""
    members = index.get(key)
    if members is not None:
        members.discard(member)
        if not members:
            del index[key]


class ClaimUsers(ABC, Generic[Use, Needs]):
    """Pods by the claims that they use. When a claim changes, its pods are marked and counted again."""

    def __init__(self, users: dict[str, set[str]], placements: Mapping[str, Placement]) -> None:
        """`users` are pods by claim; `placements` are those of pods that are being bound, by uid."""
        self._users = users
        self._placements = placements
        #: Claims by pod.
        self._uses: dict[str, tuple[Use, ...]] = {}
        #: Pods whose requirements may have changed; and cached requirements of the others.
        self._changed: set[str] = set()
        self._needs: dict[str, Needs] = {}

    def take_changed(self) -> set[str]:
        """Return and clear the pods whose requirements may have changed."""
        changed, self._changed = self._changed, set()
        return changed

    def leave(self, uid: str) -> None:
        """Remove a pod."""
        if (placement := self._placements.get(uid)) is not None:
            self.release(uid, placement)
        self._needs.pop(uid, None)
        for use in self._uses.pop(uid, ()):
            discard_member(self._users, use.key, uid)
            self._mark(use.key)

    @abstractmethod
    def reserve(self, uid: str) -> None:
        """Reserve what was chosen for the claims of a pod that is being bound."""

    @abstractmethod
    def release(self, uid: str, placement: Placement) -> None:
        """Release what a placement reserved that was abandoned, unless other pods that are being bound use it."""

    def _set_uses(self, uid: str, uses: tuple[Use, ...]) -> None:
        """Replace the claims that a pod uses."""
        self.leave(uid)
        if uses:
            self._uses[uid] = uses
        for use in uses:
            self._users.setdefault(use.key, set()).add(uid)
            self._mark(use.key)
        self.reserve(uid)

    def _mark(self, key: str) -> None:
        """Mark the pods of a claim: something that they depend on has changed."""
        for uid in self._users.get(key, ()):
            self._changed.add(uid)
            self._needs.pop(uid, None)

    def _mark_all(self) -> None:
        self._changed |= self._uses.keys()
        self._needs = {}
