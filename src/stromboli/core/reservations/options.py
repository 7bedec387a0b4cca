"""The arguments of the backfill action, which `allocate` reads as well: it makes the reservations."""

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
