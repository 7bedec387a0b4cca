"""Reviews with access to the cluster.

The rules use the watched state of the cluster. Before a request is rejected because of a queue, that queue is read
again, because a queue and a group in it are often created at the same time.
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
    policy: AdmissionPolicy
    authorisation: Authorisation
    #: Whether to admit if an access review fails.
    allow_unanswered: bool = False

    async def review(self, request: Request) -> AdmissionVerdict:
        facts = self.facts()
        verdict = review(request, facts, self.policy)
        if verdict.dependent_queues:
            verdict = review(request, await self._read_again(facts, verdict.dependent_queues), self.policy)
        if verdict.uses and verdict.is_allowed:
            verdict = verdict.plus(*[await self._permission(request, use) for use in verdict.uses])
        return verdict

    def patch(self, request: Request) -> list[Operation]:
        return patch_for(request, self.facts(), self.policy)

    async def _permission(self, request: Request, use: QueueUse) -> AdmissionVerdict:
        user, place = request.user_info, f"{use.field}: queue {use.queue!r}:"
        try:
            if await self.authorisation.may_use(user, use.queue):
                return AdmissionVerdict()
        except AuthorisationUnavailable as error:
            if self.allow_unanswered:
                return AdmissionVerdict(warnings=(f"{place} the access review failed, so the use was allowed",))
            message = f"{place} the access review for {user.username!r} failed ({error}); try again"
            return AdmissionVerdict(violations=(Violation(message, is_forbidden=True),))
        remedy = f"name another queue, or request the verb use on queues.{QUEUES.group} {use.queue}"
        return AdmissionVerdict(
            violations=(Violation(f"{place} {user.username!r} may not use it; {remedy}", is_forbidden=True),)
        )

    async def _read_again(self, facts: Facts, names: frozenset[str]) -> Facts:
        found = await asyncio.gather(*(self._queue(name, facts) for name in names))
        return facts.with_queues(dict(zip(names, found, strict=True)))

    async def _queue(self, name: str, facts: Facts) -> kube.KubeQueue | None:
        """Read the queue again; if that fails, use the watched one."""
        try:
            return await self.client.get(QUEUES, name)
        except ApiError as error:
            if error.is_missing:
                return None
            _log.warning("queue not read; using the cached one", extra={"queue": name, "error": str(error)})
        except RequestFailed as error:
            _log.warning("queue not read; using the cached one", extra={"queue": name, "error": str(error)})
        return facts.queues.get(name)
