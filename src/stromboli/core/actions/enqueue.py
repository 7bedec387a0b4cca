"""enqueue: let pending jobs in, as far as queues and cluster can promise them room.

Every pending job is looked at once per cycle, queue by queue in turn. A job that is refused does not block
those behind it. Nothing depends on pods: a job is let in by its `minResources`, so that controllers can wait
for it before they create any.
"""

from stromboli.core.config.action import Action
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session


class Enqueue(Action):
    name = "enqueue"

    def execute(self, session: Session) -> None:
        turns = JobOrder(session, (job for job in session.admissible if job.phase == "Pending"))
        while (queue := turns.next_queue()) is not None:
            job = turns.next_job(queue)
            if job is not None:
                self._consider(session, job)
            turns.return_queue(queue)

    def _consider(self, session: Session, job: Job) -> None:
        try:
            refusal = None if job.min_resources is None else session.job_enqueueable(job)
            if refusal is None:
                session.ledger.enqueue(job, job.missing_minimum())
                session.job_enqueued(job)
        except Exception as error:
            session.report_error(job, error)
            return
        if refusal is not None:
            session.refuse(job, refusal)
            session.refuse(job, Reason(Code.NOT_ADMITTED, "the job is not let into its queue yet"))
