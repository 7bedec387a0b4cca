"""Arguments that several actions read: those of backfill, as `allocate` makes the reservations, and those of allocate,
as `enqueue` admits the jobs of strict queues in order.
"""

from math import inf

from stromboli.core.config.arguments import Argument, PredicateCacheArguments
from stromboli.core.model.reasons import Code
from stromboli.core.model.values.times import parse_duration

BEST_EFFORT, EASY, CONSERVATIVE = STRATEGIES = ("best-effort", "easy", "conservative")

#: Limits of a queue, which do not depend on the job: it waits until others of its queue have ended.
OF_QUEUE = (Code.QUEUE_CAPABILITY, Code.QUEUE_SHARE, Code.QUEUE_OVERUSED)


def _time_or_never(text: str) -> float:
    return parse_duration(text) if text else inf


class BackfillArguments(PredicateCacheArguments):
    strategy: str = Argument(
        "strategy",
        BEST_EFFORT,
        "Which jobs have a reservation: none, the first job that waits, or all that wait.",
        choices=STRATEGIES,
    )
    max_reservations: int = Argument("maxReservations", 100, "Reservations at a time, with `conservative`.", minimum=1)


class AllocateArguments(PredicateCacheArguments):
    rearrange: bool = Argument(
        "rearrange", False, "Whether placements of the same cycle are rearranged for gangs that find no nodes."
    )
    starvation_time: float = Argument(
        "starvationTime", "", "Time after which nodes are reserved for a job that waits for them.", parse=_time_or_never
    )
    max_starving_jobs: int = Argument(
        "maxStarvingJobs", 1, "Jobs of a queue for which nodes are reserved at a time, by `starvationTime`.", minimum=1
    )
    strict: bool = Argument("strict", False, "Whether every queue is strict, as with `dequeueStrategy: fifo`.")
