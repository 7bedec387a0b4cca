"""Objects that have changed since the accounting was last updated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class ChangedObjects:
    pods: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    #: Groups of which at most the phase has changed.
    phases: set[str] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    #: Called with the uid of each changed pod.
    listeners: Sequence[Callable[[str], None]] = ()

    def mark_pod(self, uid: str) -> None:
        """Note that a pod, or a decision about it, has changed."""
        self.pods.add(uid)
        for listener in self.listeners:
            listener(uid)

    def clear(self) -> None:
        self.pods, self.groups, self.phases, self.jobs = set(), set(), set(), set()
