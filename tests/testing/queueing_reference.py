"""Reference schedules of a pool of identical processors, written for clarity: EASY and conservative backfilling.

A job is (arrival, run time, processors), in order of arrival. All run times are known exactly.
"""

from collections.abc import Sequence

Request = tuple[int, int, int]


def easy(jobs: Sequence[Request], processors: int) -> list[int]:
    """The first waiting job has a reservation; later jobs start if they do not delay it."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(jobs):
        _start_what_fits(jobs, processors, starts, now)
        arrivals = [arrival for arrival, _, _ in jobs if arrival > now]
        ends = [start + jobs[number][1] for number, start in starts.items() if start + jobs[number][1] > now]
        if len(starts) < len(jobs):
            now = min(arrivals + ends)
    return [starts[number] for number in range(len(jobs))]


def _start_what_fits(jobs: Sequence[Request], processors: int, starts: dict[int, int], now: int) -> None:
    waiting = [number for number, (arrival, _, _) in enumerate(jobs) if arrival <= now and number not in starts]
    while waiting and jobs[waiting[0]][2] <= _free(jobs, processors, starts, now):
        starts[waiting.pop(0)] = now
    if not waiting:
        return
    needed = jobs[waiting[0]][2]
    ends = sorted(start + jobs[number][1] for number, start in starts.items() if start + jobs[number][1] > now)
    reserved = next(end for end in ends if _free(jobs, processors, starts, end) >= needed)
    for number in waiting[1:]:
        _, run_time, size = jobs[number]
        spare = _free(jobs, processors, starts, reserved) - needed
        if size <= _free(jobs, processors, starts, now) and (now + run_time <= reserved or size <= spare):
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
