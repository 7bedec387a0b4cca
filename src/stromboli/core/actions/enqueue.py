"""enqueue: admit pending jobs, as far as queues and cluster have capacity for them.

Every pending job is considered once per cycle, queue by queue in turn. A rejected job does not block those behind it,
except in a strict queue: admitted jobs could start before it, and use what it needs to be admitted.
Pods are ignored: a job is admitted by its `minResources`, so that controllers can wait for that before they create any.
"""

from stromboli.core.config.action import Action
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.reservations.strict_order import StrictOrder, strict_order_of
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session

_NOT_ADMITTED = Reason(Code.NOT_ADMITTED, "the job is not admitted to its queue yet")


class Enqueue(Action):
    name = "enqueue"

    def execute(self, session: Session) -> None:
        strict_order = strict_order_of(session)
        job_order = JobOrder(session, (job for job in session.admissible if job.phase == "Pending"))
        while (queue := job_order.next_queue()) is not None:
            job = job_order.next_job(queue)
            if job is not None:
                strict = strict_order if strict_order and strict_order.applies_to(queue) else None
                self._consider(session, job, strict)
            job_order.return_queue(queue)

    def _consider(self, session: Session, job: Job, strict: StrictOrder | None) -> None:
        try:
            if strict is not None and strict.holds_back_admission(job):
                session.refusals.add(job, _NOT_ADMITTED)
                return
            refusal = None if job.min_resources is None else session.job_enqueueable(job)
            if refusal is None:
                session.ledger.enqueue(job, job.missing_minimum())
                session.job_enqueued(job)
        except Exception as error:
            session.refusals.report_error(job, error)
            return
        if refusal is not None:
            reasons = session.refusals.of(job)
            reasons.add(refusal)
            reasons.add(_NOT_ADMITTED)
            if strict is not None:
                strict.wait_for_admission(job)
