"""A simulation for people: jobs, waits, what was in use, and one closing sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.text.tables import Table, bold, echo_table

if TYPE_CHECKING:
    from stromboli.simulator.measurements import JobTimeline, Measurements
    from stromboli.simulator.report import Waits

#: Beyond this many rows nobody reads a table; programs have all of them.
_MAX_JOBS = 40
_BARS = " ▁▂▃▄▅▆▇█"


def echo_measurements(measured: Measurements, why: Callable[[str], Sequence[str]]) -> None:
    stories = sorted(measured.jobs.values(), key=lambda story: (story.arrived, story.key))
    if stories:
        echo_table(_jobs(stories, measured.start, why))
        if len(stories) > _MAX_JOBS:
            click.echo(f"... those that waited longest; {len(stories) - _MAX_JOBS} more with -o json")
        click.echo()
        echo_table(_waits(stories, measured))
        click.echo()
    if used := _use(measured):
        click.echo(bold("IN USE"))
        for line in used:
            click.echo(line)
        click.echo()
    click.echo(_closing(measured))


def _jobs(stories: Sequence[JobTimeline], start: float, why: Callable[[str], Sequence[str]]) -> Table:
    table = Table(
        ("JOB", "QUEUE", "PODS", "ARRIVED", "STARTED", "ENDED", "WAITED"),
        right=("PODS", "ARRIVED", "STARTED", "ENDED", "WAITED"),
        note_header="WHY IT WAITS",
    )
    for story in _shown(stories):
        times = [_clock(moment, start) for moment in (story.arrived, story.started, story.ended)]
        waited = "-" if story.waited is None else _length(story.waited)
        note = "" if story.started is not None else "; ".join(why(story.key)) or "no room until the end"
        table.add(story.key, story.queue, str(story.pods), *times, waited, note=note)
    return table


def _shown(stories: Sequence[JobTimeline]) -> Sequence[JobTimeline]:
    """All of them, or those that never started and those that waited longest, in order of arrival."""
    if len(stories) <= _MAX_JOBS:
        return stories
    patient = sorted(stories, key=lambda story: float("inf") if story.waited is None else story.waited, reverse=True)
    chosen = {story.key for story in patient[:_MAX_JOBS]}
    return [story for story in stories if story.key in chosen]


def _waits(stories: Sequence[JobTimeline], measured: Measurements) -> Table:
    from stromboli.simulator.report import by_queue, waits_of

    names = ("QUEUE", "JOBS", "WAITING", "MEAN WAIT", "MEDIAN", "P95", "MAX")
    table = Table((*names, "SHARE"), right=names[1:])
    _, shares = measured.mean_use(measured.start, measured.end)
    for name, own in by_queue(stories).items():
        table.add(name, *_numbers(own, waits_of(own)), _parts_in_words(shares.get(name, {})))
    if len({story.queue for story in stories}) > 1:
        table.add("all", *_numbers(stories, waits_of(stories)), "")
    return table


def _numbers(stories: Sequence[JobTimeline], waits: Waits) -> list[str]:
    waiting = sum(1 for story in stories if story.started is None)
    lengths = (waits.mean, waits.median, waits.p95, waits.longest)
    return [str(len(stories)), str(waiting), *(_length(length) if waits.jobs else "-" for length in lengths)]


def _parts_in_words(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {part:.0%}" for name, part in parts.items() if part >= 0.005) or "-"


def _use(measured: Measurements) -> list[str]:
    """A line per resource: its mean, and a bar for each part of the time."""
    from stromboli.simulator.report import PARTS

    mean, _ = measured.mean_use(measured.start, measured.end)
    names = [name for name, part in mean.items() if part > 0]
    length = (measured.end - measured.start) / PARTS
    if length <= 0 or not names:
        return []
    begins = [measured.start + number * length for number in range(PARTS)]
    parts = [measured.mean_use(begin, begin + length)[0] for begin in begins]
    width = max(map(len, names))
    return [
        f"{name.ljust(width)}  {mean[name]:4.0%}  {''.join(_bar(part.get(name, 0.0)) for part in parts)}"
        for name in names
    ]


def _bar(part: float) -> str:
    return _BARS[min(round(part * (len(_BARS) - 1)), len(_BARS) - 1)]


def _closing(measured: Measurements) -> str:
    from stromboli.simulator.report import moment

    stories = measured.jobs.values()
    started = sum(1 for story in stories if story.started is not None)
    parts = [
        f"{_length(measured.end - measured.start)} from {moment(measured.start)} in {measured.cycles} cycles",
        f"{started} of {len(stories)} jobs started",
    ]
    if evicted := sum(story.evictions for story in stories):
        parts.append(f"{evicted} pods evicted")
    return "; ".join(parts) + "."


def _clock(moment: float | None, start: float) -> str:
    return "-" if moment is None else f"+{_length(moment - start)}"


def _length(seconds: float) -> str:
    """`0s`, `12m30s`, `3h05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
