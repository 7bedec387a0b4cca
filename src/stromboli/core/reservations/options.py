"""Arguments that several actions read: those of backfill, as `allocate` makes the reservations, and those of allocate,
as `enqueue` admits the jobs of strict queues in order.
"""

from stromboli.core.config.arguments import Argument, PredicateCacheArguments

BEST_EFFORT, EASY, CONSERVATIVE = STRATEGIES = ("best-effort", "easy", "conservative")


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
    strict: bool = Argument("strict", False, "Whether every queue is strict, as with `dequeueStrategy: fifo`.")
