"""Reviews with access to the cluster.

The rules use the watched state of the cluster. Before a request is rejected because of a queue or a missing group, that
object is read again, because a queue, a group in it and its pods are often created at the same time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from stromboli import kube
from stromboli.admission.access.authorisation import Authorisation, AuthorisationUnavailable
from stromboli.admission.access.job_templates import needs_templates, read_templates
from stromboli.admission.access.members import GroupMembers
from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.json_patch import Operation
from stromboli.admission.requests import Request
from stromboli.admission.review import new_group, policy_for, review
from stromboli.admission.verdict import GOOD, AdmissionVerdict, QueueUse, Violation, refused, warned
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import POD_GROUPS, QUEUES
from stromboli.workloads.groups import is_native

_log = logging.getLogger("stromboli.admission")


@dataclass(frozen=True, slots=True)
class Reviewer:
    client: Client
    facts: Callable[[], Facts]
    policy: AdmissionPolicy
    authorisation: Authorisation
    members: GroupMembers
    #: Whether to admit if an access review fails.
    allow_unanswered: bool = False

    async def review(self, request: Request) -> AdmissionVerdict:
        facts = self.facts()
        unread = GOOD
        if needs_templates(request):
            facts, unread = await self._with_templates(facts, request.namespace)
        verdict = review(request, facts, self.policy).plus(unread)
        if verdict.dependent_queues or verdict.dependent_groups:
            facts = await self._read_again(facts, verdict)
            verdict = review(request, facts, self.policy).plus(unread)
        if verdict.is_allowed and (group := new_group(request)) is not None:
            policy = policy_for(request, self.policy)
            verdict = verdict.plus(await self.members.review(group, request.user_info, facts, policy))
        if verdict.uses and verdict.is_allowed:
            verdict = verdict.plus(*[await self._permission(request, use) for use in verdict.uses])
        return verdict

    def patch(self, request: Request) -> list[Operation]:
        return patch_for(request, self.facts(), self.policy)

    async def _with_templates(self, facts: Facts, namespace: str) -> tuple[Facts, AdmissionVerdict]:
        """Read the JobTemplates of a namespace. Without them it is unknown which queues a flow uses."""
        try:
            return replace(facts, job_templates=await read_templates(self.client, namespace)), GOOD
        except RequestFailed as error:
            if self.allow_unanswered:
                return facts, warned("spec.flows: the JobTemplates could not be read, so their queues were allowed")
            message = f"spec.flows: the JobTemplates could not be read ({error}); try again"
            return facts, refused(Violation(message, is_forbidden=True))

    async def _permission(self, request: Request, use: QueueUse) -> AdmissionVerdict:
        user, place = request.user_info, f"{use.field}: queue {use.queue!r}:"
        try:
            if await self.authorisation.allows(user, use.queue, use.verb):
                return AdmissionVerdict()
        except AuthorisationUnavailable as error:
            if self.allow_unanswered:
                return AdmissionVerdict(warnings=(f"{place} the access review failed, so the use was allowed",))
            message = f"{place} the access review for {user.username!r} failed ({error}); try again"
            return AdmissionVerdict(violations=(Violation(message, is_forbidden=True),))
        remedy = f"name another queue, or request the verb {use.verb} on queues.{QUEUES.group} {use.queue}"
        message = f"{place} {user.username!r} may not {use.verb} it; {remedy}"
        return AdmissionVerdict(violations=(Violation(message, is_forbidden=True),))

    async def _read_again(self, facts: Facts, verdict: AdmissionVerdict) -> Facts:
        names, keys = verdict.dependent_queues, verdict.dependent_groups
        queues = await asyncio.gather(*(self._queue(name, facts) for name in names))
        groups = await asyncio.gather(*(self._group(key) for key in keys))
        found = facts.with_queues(dict(zip(names, queues, strict=True)))
        return found.with_groups(dict(zip(keys, groups, strict=True)))

    async def _group(self, key: str) -> kube.PodGroup | None:
        """Read a group that the watch has not reported; None if it does not exist. Native groups are not read."""
        namespace, _, name = key.partition("/")
        try:
            return None if is_native(key) else await self.client.get(POD_GROUPS, name, namespace=namespace)
        except RequestFailed as error:
            if not (isinstance(error, ApiError) and error.is_missing):
                _log.warning("group not read", extra={"group": key, "error": str(error)})
            return None

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
