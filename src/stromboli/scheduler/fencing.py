"""A leader with a successor finds out, also when its lease does not tell it: by the marks on what the other one bound.

The lease says who leads, and a leader asks its own clock whether the lease still holds. Beside that, members of gangs
carry the term of the leader that bound them. Terms count up, so a later term than one's own is a successor's mark, and
nothing is written until the server has said whose the lease is. Anybody can write such a mark on a pod of their own;
all they get for it is a question to the server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger("stromboli.scheduler")


class LeaseView(Protocol):
    """What is known of our leadership."""

    @property
    def is_leading(self) -> bool: ...

    @property
    def epoch(self) -> int: ...

    @property
    def renewed_at(self) -> float:
        """When we last asked the server, and it said that we lead."""

    def renew_now(self) -> None:
        """Ask it again, at once."""


class FencingCheck:
    """Whether we may write, as far as anybody can know."""

    def __init__(self, mandate: LeaseView, clock: Callable[[], float]) -> None:
        self._mandate = mandate
        self._clock = clock
        self._newest = -1
        self._doubted_at = float("-inf")

    def is_leader(self) -> bool:
        return self._mandate.is_leading and self._mandate.renewed_at > self._doubted_at

    def saw(self, term: int) -> None:
        """Some pod was bound by the leader of this term."""
        if term <= max(self._newest, self._mandate.epoch):
            return
        self._newest = term
        if self._mandate.is_leading:
            log.warning("pod bound in a later term; renewing the lease", extra={"epoch": term})
            self._doubted_at = self._clock()
            self._mandate.renew_now()
