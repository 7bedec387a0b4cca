"""Reference schedules of a pool of identical processors, written for clarity: first come, first served, EASY and
conservative backfilling.

A job is (arrival, run time, processors), in order of arrival. Estimates are at least the run times, and by default the
run times.
"""

from collections.abc import Callable, Sequence

Request = tuple[int, int, int]


def fcfs(jobs: Sequence[Request], processors: int) -> list[int]:
    """No job starts before one that arrived earlier."""
    starts: dict[int, int] = {}
    now = 0
    for number, (arrival, _, size) in enumerate(jobs):
        ends = [start + jobs[other][1] for other, start in starts.items()]
        moments = sorted({max(now, arrival), *(end for end in ends if end > max(now, arrival))})
        now = starts[number] = next(at for at in moments if _free(jobs, processors, starts, at) >= size)
    return [starts[number] for number in range(len(jobs))]


def easy(
    jobs: Sequence[Request],
    processors: int,
    estimates: Sequence[int] = (),
    date: Callable[[int], float] = lambda number: number,
) -> list[int]:
    """The first waiting job has a reservation; later jobs start if they do not delay it. Jobs are ordered by date."""
    estimates = estimates or [run_time for _, run_time, _ in jobs]
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(jobs):
        arrived = [number for number, (arrival, _, _) in enumerate(jobs) if arrival <= now and number not in starts]
        _start_what_fits(jobs, processors, estimates, starts, sorted(arrived, key=lambda each: (date(each), each)), now)
        arrivals = [arrival for arrival, _, _ in jobs if arrival > now]
        ends = [start + jobs[number][1] for number, start in starts.items() if start + jobs[number][1] > now]
        if len(starts) < len(jobs):
            now = min(arrivals + ends)
    return [starts[number] for number in range(len(jobs))]


def _start_what_fits(
    jobs: Sequence[Request], processors: int, estimates: Sequence[int], starts: dict[int, int], waiting: list[int],
    now: int,
) -> None:  # fmt: skip
    def free_by_estimates(moment: int) -> int:
        running = [n for n, start in starts.items() if start <= now < start + jobs[n][1]]
        return processors - sum(jobs[n][2] for n in running if starts[n] + estimates[n] > moment)

    while waiting and jobs[waiting[0]][2] <= free_by_estimates(now):
        starts[waiting.pop(0)] = now
    if not waiting:
        return
    needed = jobs[waiting[0]][2]
    ends = sorted(start + estimates[n] for n, start in starts.items() if start + jobs[n][1] > now)
    reserved = next(end for end in ends if free_by_estimates(end) >= needed)
    for number in waiting[1:]:
        size, end = jobs[number][2], now + estimates[number]
        if size <= free_by_estimates(now) and (end <= reserved or size <= free_by_estimates(reserved) - needed):
            starts[number] = now


def conservative(jobs: Sequence[Request], processors: int) -> list[int]:
    """Every job has a reservation from its arrival on, and delays no reservation of an earlier job."""
    starts: dict[int, int] = {}
    for number, (arrival, run_time, size) in enumerate(jobs):
        ends = [start + jobs[other][1] for other, start in starts.items()]
        moments = sorted({arrival, *(end for end in ends if end > arrival)})
        starts[number] = next(
            moment
            for moment in moments
            if all(
                _free(jobs, processors, starts, at) >= size
                for at in (moment, *(s for s in starts.values() if moment < s < moment + run_time))
            )
        )
    return [starts[number] for number in range(len(jobs))]


def _free(jobs: Sequence[Request], processors: int, starts: dict[int, int], moment: int) -> int:
    """Return how many processors are free at this moment, after all that ends then and before anything starts."""
    running = (n for n, start in starts.items() if start <= moment < start + jobs[n][1])
    return processors - sum(jobs[number][2] for number in running)
