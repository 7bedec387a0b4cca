"""Answers requests with the help of the cluster.

The rules judge by what is remembered of the cluster. A refusal that rests on a queue is given only after that queue was
read again, because a queue and a group in it are often made in one breath.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from stromboli import kube
from stromboli.admission.authorisation import Authorisation, AuthorisationUnavailable
from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.json_patch import Operation
from stromboli.admission.requests import Request
from stromboli.admission.review import review
from stromboli.admission.verdict import AdmissionVerdict, QueueUse, Violation
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES

_log = logging.getLogger("stromboli.admission")


@dataclass(frozen=True, slots=True)
class Reviewer:
    client: Client
    facts: Callable[[], Facts]
    terms: AdmissionPolicy
    authorisation: Authorisation
    #: What holds when nobody says whether a queue may be used.
    allows_unanswered: bool = False

    async def review(self, request: Request) -> AdmissionVerdict:
        facts = self.facts()
        verdict = review(request, facts, self.terms)
        if verdict.queues_in_doubt:
            verdict = review(request, await self._read_again(facts, verdict.queues_in_doubt), self.terms)
        if verdict.uses and verdict.is_allowed:
            verdict = verdict.plus(*[await self._permission(request, use) for use in verdict.uses])
        return verdict

    def patch(self, request: Request) -> list[Operation]:
        return patch_for(request, self.facts(), self.terms)

    async def _permission(self, request: Request, use: QueueUse) -> AdmissionVerdict:
        user, place = request.user_info, f"{use.field}: queue {use.queue!r}:"
        try:
            if await self.authorisation.may_use(user, use.queue):
                return AdmissionVerdict()
        except AuthorisationUnavailable as error:
            if self.allows_unanswered:
                return AdmissionVerdict(warnings=(f"{place} nobody says whether you may use it, so it was let pass",))
            words = f"{place} nobody says whether {user.username!r} may use it ({error}); try again"
            return AdmissionVerdict(faults=(Violation(words, is_forbidden=True),))
        remedy = f"name another, or ask for the verb use on queues.{QUEUES.group} {use.queue}"
        return AdmissionVerdict(
            faults=(Violation(f"{place} {user.username!r} may not use it; {remedy}", is_forbidden=True),)
        )

    async def _read_again(self, facts: Facts, names: frozenset[str]) -> Facts:
        found = await asyncio.gather(*(self._queue(name, facts) for name in names))
        return facts.with_queues(dict(zip(names, found, strict=True)))

    async def _queue(self, name: str, facts: Facts) -> kube.KubeQueue | None:
        """The queue as it is now. Where the server does not answer, what is remembered has to do."""
        try:
            return await self.client.get(QUEUES, name)
        except ApiError as error:
            if error.is_missing:
                return None
            _log.warning("queue %s cannot be read again: %s", name, error)
        except RequestFailed as error:
            _log.warning("queue %s cannot be read again: %s", name, error)
        return facts.queues.get(name)
