"""overcommit: let in a little more work than the cluster can hold, and no more.

Work that is let in may have its pods created and waits for room. Letting in everything would fill the cluster
with pending pods; letting in only what fits right now would leave it idle between two jobs. A job that could make its
own room at the cost of others is let in as well: it could not claim anything from outside.
"""

from stromboli.core.config.arguments import Argument
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import PODS, UNLIMITED
from stromboli.core.preemption.headroom import EvictionHeadroom
from stromboli.core.session.session import Session

_FACTOR = "overcommit-factor"
_DEFAULT_FACTOR = 1.2


class Overcommit(Plugin):
    name = "overcommit"
    arguments = (
        Argument(
            _FACTOR, float, _DEFAULT_FACTOR, "How much of the cluster's total may be promised; below 1 means 1.2."
        ),
    )

    def open(self, session: Session) -> None:
        factor = float(self.given[_FACTOR])
        factor = factor if factor >= 1 else _DEFAULT_FACTOR
        layout, books = session.ledger.layout, session.ledger.books
        used = books[layout.used : layout.used + layout.resources].sum(axis=1).tolist()
        #: What may still be promised, what is promised already counted in.
        self._idle = [
            round(min(total * factor, UNLIMITED)) - taken for total, taken in zip(session.total, used, strict=True)
        ]
        self._prospects = EvictionHeadroom(session)
        self._promises = session.ledger.queues[ROOT]
        self._axis = session.axis

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        promised = self._promises.inqueue
        short = [
            (dimension, amount)
            for dimension, amount in job.min_resources or ()
            if dimension != PODS and promised[dimension] + amount > self._idle[dimension]
        ]
        if not short or self._prospects.can_free(job, tuple(short)):
            return Vote.PERMIT
        words = ", ".join(f"overused {self._axis.names[dimension]}" for dimension, _ in short)
        return Reason(Code.CLUSTER_OVERCOMMITTED, f"resource in cluster is overused: {words}")
