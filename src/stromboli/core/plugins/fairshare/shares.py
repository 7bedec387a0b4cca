"""The fair shares of a session as they are shown, by the formulas of the decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.resources.resources import counts_in_milli
from stromboli.core.model.usage.fair_shares import FairShare, FairShares
from stromboli.core.model.usage.past_usage import UsageVector
from stromboli.core.model.usage.weighting import parts
from stromboli.core.plugins.fairshare.arguments import FairShareArguments
from stromboli.core.plugins.fairshare.measure import UsageMeasure
from stromboli.core.plugins.fairshare.queue_levels import QueueLevels
from stromboli.core.plugins.fairshare.user_order import held_by_users, rank_of, user_weights
from stromboli.core.session.session import Session


class ShareReport:
    def __init__(
        self, session: Session, arguments: FairShareArguments, measure: UsageMeasure, levels: QueueLevels
    ) -> None:
        self._session = session
        self._arguments = arguments
        self._measure = measure
        self._levels = levels

    def __call__(self, with_users: bool) -> FairShares:
        """Return the shares of queues, and of users if users share their queue and they are asked for."""
        queues = [queue for queue in self._session.queues.values() if queue.name != ROOT]
        siblings: dict[str, list[Queue]] = {}
        for queue in queues:
            siblings.setdefault(self._parent(queue), []).append(queue)
        shares = {share.queue: share for group in siblings.values() for share in self._of_siblings(group)}
        users = self._of_users(queues) if with_users and self._arguments.per_user else {}
        entries = list[FairShare]()
        for queue in sorted(queues, key=lambda queue: [each.name for each in self._levels.path(queue.name)]):
            entries += [shares[queue.name], *users.get(queue.name, ())]
        return FairShares(self._most_used(), entries)

    def _parent(self, queue: Queue) -> str:
        path = self._levels.path(queue.name)
        return path[-2].name if len(path) > 1 else ""

    def _most_used(self) -> str:
        used = self._measure.billed(self._measure.total)
        return self._session.axis.names[max(used, key=used.__getitem__)] if any(used.values()) else ""

    def _of_siblings(self, queues: Sequence[Queue]) -> Iterator[FairShare]:
        axis, measure, levels = self._session.axis, self._measure, self._levels
        weights = np.array([queue.weight for queue in queues], dtype=np.float64)
        used = np.array([levels.used(queue.name) for queue in queues])
        effective = {d: parts(weights, used[:, d], self._arguments.strength) for d in measure.dimensions}
        for number, (queue, weight) in enumerate(zip(queues, weights.tolist(), strict=True)):
            past = levels.past(queue.name)
            yield FairShare(
                queue.name, None, len(levels.path(queue.name)) - 1, weight, weight / float(weights.sum()),
                self._named(past), measure.past_level(measure.fractions(queue.name, past)),
                {axis.names[d]: float(found[number]) for d, found in effective.items()}, levels.key(queue)[-1],
            )  # fmt: skip

    def _of_users(self, queues: Iterable[Queue]) -> Mapping[str, Sequence[FairShare]]:
        weights = {queue.name: user_weights(self._session, queue) for queue in queues}
        users = {name: {*self._measure.users_of(name), *own} for name, own in weights.items()}
        for job in self._session.jobs.values():
            if job.spec.queue in users and (any(job.allocated) or job.pending_count):
                users[job.spec.queue].add(job.spec.user)
        held = held_by_users(self._session, self._session.jobs.values(), users)
        return {name: list(self._of_queue(name, sorted(those), weights[name], held)) for name, those in users.items()}

    def _of_queue(
        self,
        queue: str,
        users: Sequence[str],
        weights: Mapping[str, float],
        held: Mapping[tuple[str, str], Sequence[int]],
    ) -> Iterator[FairShare]:
        measure, depth = self._measure, len(self._levels.path(queue)) - 1
        whole = sum(weights.get(user, 1.0) for user in users) or 1.0
        for user in users:
            weight, past = weights.get(user, 1.0), measure.of_user(queue, user)
            fractions = measure.fractions(queue, past)
            factor = rank_of(measure.level(fractions).at(held[queue, user]), weight)
            yield FairShare(
                queue, user, depth, weight, weight / whole, self._named(past), measure.past_level(fractions), {}, factor
            )

    def _named(self, used: UsageVector) -> dict[str, float]:
        names = {dimension: self._session.axis.names[dimension] for dimension in self._measure.dimensions}
        return {name: float(used[d]) / (1000 if counts_in_milli(name) else 1) for d, name in names.items()}
