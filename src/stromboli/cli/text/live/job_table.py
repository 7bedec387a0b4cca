"""The table of jobs: queue, phase, pods, and why a job waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from stromboli.cli.output import escape_controls
from stromboli.cli.text.live.bars import NO_QUEUE, Look
from stromboli.cli.text.live.frame import SETTLED, JobRow
from stromboli.cli.text.live.rows import fit, with_rest

_PHASES = {"Running": "green", "Starting": "green", "Completed": "dim", "Unknown": "red"}


def job_lines(jobs: Sequence[JobRow], rows: int, width: int, looks: Mapping[str, Look]) -> list[Text]:
    names = min(max((cell_len(job.name) for job in jobs), default=3), width // 4)
    queues = min(max((cell_len(job.queue) + 2 for job in jobs), default=5), width // 5)
    heading = f" {'JOB':<{names}}  {'QUEUE':<{queues}}  {'PHASE':<9} {'MIN':>3} {'PODS':>5}  WHY IT WAITS"
    lines = [Text(heading, style="bold")]
    for job in _most_important(jobs, rows):
        glyph, colour = looks.get(job.queue, NO_QUEUE)
        line = Text(" ")
        line.append(fit(job.name, names))
        line.append("  ")
        line.append(fit(f"{glyph} {job.queue}", queues), style=colour)
        line.append(f"  {job.phase:<9}", style=_PHASES.get(job.phase, "yellow"))
        line.append(f" {job.minimum:>3} {_pods(job):>5}  ")
        line.append(_clauses(escape_controls(job.reason), width - 1 - line.cell_len), style="yellow")
        lines.append(line)
    return with_rest(lines, len(jobs), rows)


def _clauses(reason: str, width: int) -> str:
    """Return the first clauses of a reason that fit, and at least one."""
    while cell_len(reason) > width and "; " in reason:
        reason = reason.rpartition("; ")[0]
    return reason


def _most_important(jobs: Sequence[JobRow], rows: int) -> list[JobRow]:
    """Return the jobs that are shown, in order: completed ones give way first."""
    if len(jobs) <= rows:
        return list(jobs)
    ranked = sorted(jobs, key=lambda job: (job.phase == "Completed", job.phase in SETTLED))
    kept = {job.key for job in ranked[: rows - 1]}
    return [job for job in jobs if job.key in kept]


def _pods(job: JobRow) -> str:
    done = job.phase == "Completed"
    return f"{job.succeeded if done else job.running}/{max(job.pods, job.minimum)}"
