"""resourcequota: admit a job only if the ResourceQuotas of its namespace have capacity for it.

Pods beyond a quota cannot be created. A job admitted nevertheless would have some of its pods and wait for the others,
while the capacity reserved for it is idle.
"""

from __future__ import annotations

from collections import defaultdict

from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.quota import LIMITS, Quota, format_amount, format_amounts
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import PODS
from stromboli.core.session.session import Session


class ResourceQuotaPlugin(Plugin):
    name = "resourcequota"

    def open(self, session: Session) -> None:
        self._axis = session.axis
        self._quotas = session.snapshot.quotas
        #: By namespace, what admitted jobs have still to request.
        self._reserved: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for key in session.snapshot.waiting:
            if session.jobs[key].phase == "Inqueue":
                self._reserve(session.jobs[key])

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        for quota in self._quotas.get(job.spec.namespace, ()):
            refusal = self._refusal(job, quota)
            if refusal is not None:
                return refusal
        return Vote.PERMIT

    def job_enqueued(self, job: Job) -> None:
        self._reserve(job)

    def _refusal(self, job: Job, quota: Quota) -> Reason | None:
        reserved = self._reserved[job.spec.namespace]
        wanted = {name: amount for name in quota.hard if (amount := self._missing_request(job, name))}
        taken = {name: quota.used.get(name, 0) + reserved[name] for name in wanted}
        short = [name for name, amount in wanted.items() if taken[name] + amount > quota.hard[name]]
        if not short:
            return None
        described = (format_amounts({name: amounts[name] for name in short}) for amounts in (wanted, taken, quota.hard))
        detail = "resource quota insufficient, requested: {}, used: {}, limited: {}".format(*described)
        name = short[0]
        text = f"quota {quota.name}: {name} {{}} of {{}} used, needs {{}}"
        amounts = (format_amount(name, each[name]) for each in (taken, quota.hard, wanted))
        return Reason(Code.NAMESPACE_QUOTA, f"{detail} (ResourceQuota {quota.name})", short=text.format(*amounts))

    def _reserve(self, job: Job) -> None:
        """Record what a job will request, once for all quotas that limit a resource."""
        if job.min_resources is None:
            return
        reserved = self._reserved[job.spec.namespace]
        names = {name for quota in self._quotas.get(job.spec.namespace, ()) for name in quota.hard}
        for name in names:
            reserved[name] += self._missing_request(job, name)

    def _missing_request(self, job: Job, name: str) -> int:
        """Return what the missing pods of a job's minimum will request; quotas already count the existing ones."""
        stated, existing = job.spec.min_quotas.get(name, 0), job.requested[PODS]
        if name.startswith(LIMITS):
            pods = max(job.min_available, 1)
            return -(-stated * max(pods - existing, 0) // pods)
        dimension = self._axis.find(name)
        if dimension is None:
            return stated
        stated = max(stated, dict(job.min_resources or ()).get(dimension, 0))
        if dimension == PODS:
            stated = max(stated, job.min_available)
        return max(stated - job.requested[dimension], 0)
