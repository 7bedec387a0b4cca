"""overcommit: admit slightly more work than the cluster can hold.

An admitted job may create its pods and waits for capacity. Admitting everything would fill the cluster with pending
pods; admitting only what fits now would leave it idle between two jobs. A job that could obtain its capacity by
preemption is admitted as well, because a job that is not admitted cannot preempt.
"""

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.limit_reasons import Excess, cluster_admitted
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.reasons import Reason
from stromboli.core.model.resources.resources import PODS, UNLIMITED
from stromboli.core.preemption.headroom import EvictionHeadroom
from stromboli.core.session.session import Session

_DEFAULT_FACTOR = 1.2


class OvercommitArguments(Arguments):
    factor: float = Argument("overcommit-factor", _DEFAULT_FACTOR, "Multiple of the cluster to admit; below 1: 1.2.")


class Overcommit(Plugin):
    name = "overcommit"
    arguments = OvercommitArguments()

    def open(self, session: Session) -> None:
        factor = self.arguments.factor if self.arguments.factor >= 1 else _DEFAULT_FACTOR
        layout, books = session.ledger.layout, session.ledger.amounts
        used = books[layout.used : layout.used + layout.resources].sum(axis=1).tolist()
        self._limit = [round(min(total * factor, UNLIMITED)) for total in session.total]
        #: The amounts that may still be admitted; admitted jobs count with their minimum resources.
        self._idle = [limit - taken for limit, taken in zip(self._limit, used, strict=True)]
        self._impossible = session.impossible
        self._headroom = EvictionHeadroom(session)
        self._root_usage = session.ledger.queues[ROOT]
        self._axis = session.axis
        #: Jobs with the same minimum wait for the same reason.
        self._reasons: dict[tuple[Excess, ...], Reason] = {}

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        reserved = self._root_usage.inqueue
        short = [
            (dimension, amount)
            for dimension, amount in job.min_resources or ()
            if dimension != PODS and reserved[dimension] + amount > self._idle[dimension]
        ]
        if not short or self._headroom.can_free(job, tuple(short)):
            return Vote.PERMIT
        beyond = [(dimension, amount) for dimension, amount in short if amount > self._limit[dimension]]
        if beyond or not self._impossible.capacity.nodes:
            impossible = self._impossible.exceeded_by(beyond)
            if impossible is not None:
                return impossible
        excesses = tuple(Excess(d, amount, reserved[d], self._idle[d]) for d, amount in short)
        known = self._reasons.get(excesses)
        if known is None:
            known = self._reasons[excesses] = cluster_admitted(self._axis, excesses)
        return known
