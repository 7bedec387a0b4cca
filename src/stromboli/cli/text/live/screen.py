"""Frames as text that fits a terminal exactly, with one glyph and colour per queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from stromboli.cli.output import escape_controls
from stromboli.cli.text.live.bars import LEAVING, MARK, NO_QUEUE, Look, Scale, node_bar, queue_bar, queue_looks
from stromboli.cli.text.live.frame import SETTLED, Frame, JobRow, QueueRow

if TYPE_CHECKING:
    from stromboli.cli.text.live.cycles import ViewEvent

T = TypeVar("T")
_PHASES = {"Running": "green", "Starting": "green", "Completed": "dim", "Unknown": "red"}
_EVENTS = {"Bound": "green", "Evicted": "red", "Submitted": "default", "Completed": "default"}
#: The longest bar, twice as long on wide terminals.
_BAR_COLUMNS, _WIDE = 24, 110
#: Lines beside rows of jobs, nodes and events: header, caption, headings, blank lines and footer.
_CHROME = 10
_LEAST_ROWS = (7, 4, 3)


@dataclass(frozen=True, slots=True)
class View:
    """A frame, and what is shown around it."""

    frame: Frame
    title: str
    #: Seconds since the start.
    elapsed: float
    caption: str = ""
    footer: str = ""
    events: Sequence[ViewEvent] = ()


def rendered(view: View, width: int, height: int) -> list[Text]:
    """Return exactly `height` lines of at most `width` columns."""
    frame = view.frame
    looks = queue_looks(row.name for row in frame.queues)
    columns = _BAR_COLUMNS if width < _WIDE else 2 * _BAR_COLUMNS
    wanted = (len(frame.jobs), max(len(frame.nodes), len(frame.queues)), len(view.events))
    jobs, nodes, events = _shares(wanted, max(height - _CHROME, 3))
    lines = [
        _header(view, width),
        Text(f" {escape_controls(view.caption)}", style="bold yellow"),
        Text(),
        *_job_lines(frame.jobs, jobs, width, looks),
        Text(),
        *_side_by_side(_node_lines(frame, nodes, columns, looks), _queue_lines(frame, nodes, columns, looks)),
        Text(),
        *_event_lines(view.events, events),
    ]
    lines += [Text()] * (height - 1 - len(lines))
    footer = Text(f" {escape_controls(view.footer)}", style="dim")
    return [_cut(line, width) for line in (*lines[: height - 1], footer)]


def _cut(line: Text, width: int) -> Text:
    line.truncate(width - 1, overflow="ellipsis")
    return line


def _shares(wanted: Sequence[int], available: int) -> list[int]:
    """Divide lines between jobs, nodes and events: each gets its least number, and the rest goes to what needs more."""
    shares = [0, 0, 0]
    for limits in (_LEAST_ROWS, wanted):
        while (left := available - sum(shares)) > 0:
            short = [place for place in range(3) if shares[place] < min(limits[place], max(wanted[place], 1))]
            if not short:
                break
            for place in short[:left]:
                shares[place] += 1
    return shares


def _header(view: View, width: int) -> Text:
    frame = view.frame
    running, pods = sum(job.running for job in frame.jobs), sum(job.pods - job.succeeded for job in frame.jobs)
    left = Text.assemble((f" {view.title}", "bold"), f"  {_counted(len(frame.nodes), 'node')}")
    left.append(f"   {unit(frame.resource)} {_amount(frame.used)}/{_amount(frame.capacity)} in use")
    left.append(f"   pods {running}/{pods} running")
    return _with_right_end(left, clock(view.elapsed), width - 1)


def _with_right_end(left: Text, right: str, width: int) -> Text:
    left.pad_right(max(width - left.cell_len - len(right), 1))
    return left.append(right, style="dim")


# -- jobs -------------------------------------------------------------------------------------------------------------


def _job_lines(jobs: Sequence[JobRow], rows: int, width: int, looks: Mapping[str, Look]) -> list[Text]:
    names = min(max((cell_len(job.name) for job in jobs), default=3), width // 4)
    queues = min(max((cell_len(job.queue) + 2 for job in jobs), default=5), width // 5)
    heading = f" {'JOB':<{names}}  {'QUEUE':<{queues}}  {'PHASE':<9} {'MIN':>3} {'PODS':>5}  WHY IT WAITS"
    lines = [Text(heading, style="bold")]
    for job in _most_important(jobs, rows):
        glyph, colour = looks.get(job.queue, NO_QUEUE)
        line = Text(" ")
        line.append(_fit(job.name, names))
        line.append("  ")
        line.append(_fit(f"{glyph} {job.queue}", queues), style=colour)
        line.append(f"  {job.phase:<9}", style=_PHASES.get(job.phase, "yellow"))
        line.append(f" {job.minimum:>3} {_pods(job):>5}  ")
        line.append(_clauses(escape_controls(job.reason), width - 1 - line.cell_len), style="yellow")
        lines.append(line)
    return _with_rest(lines, len(jobs), rows)


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


def _with_rest(lines: list[Text], total: int, rows: int) -> list[Text]:
    """Add the number of left out rows, and blank lines up to the height."""
    shown = len(lines) - 1
    if shown < total:
        lines.append(Text(f" +{total - shown} more", style="dim"))
    return lines + [Text()] * (rows + 1 - len(lines))


# -- nodes and queues -------------------------------------------------------------------------------------------------


def _node_lines(frame: Frame, rows: int, columns: int, looks: Mapping[str, Look]) -> list[Text]:
    scale = Scale.of(max((node.capacity for node in frame.nodes), default=0), columns)
    names = min(max((cell_len(node.name) for node in frame.nodes), default=4), 16)
    lines = [Text(f" {'NODE':<{names}}  {unit(frame.resource)}", style="bold")]
    for node in _first(frame.nodes, rows):
        parts = [(looks.get(queue, NO_QUEUE), amount) for queue, amount in sorted(node.used.items())]
        bar = node_bar([*parts, (LEAVING, node.leaving)], node.capacity, scale)
        amounts = f"  {_amount(sum(node.used.values()))}/{_amount(node.capacity)}"
        lines.append(Text.assemble(f" {_fit(node.name, names)}  ", bar, amounts))
    return _with_rest(lines, len(frame.nodes), rows)


def _queue_lines(frame: Frame, rows: int, columns: int, looks: Mapping[str, Look]) -> list[Text]:
    scale = Scale.of(frame.capacity, columns)
    names = min(max((cell_len(queue.name) for queue in frame.queues), default=5), 16)
    lines = [Text(f"{'QUEUE':<{names + 2}}  {unit(frame.resource)} allocated{MARK}deserved", style="bold")]
    for queue in _first(frame.queues, rows):
        glyph, colour = looks[queue.name]
        bar = queue_bar((glyph, colour), queue.allocated, queue.deserved, scale)
        lines.append(Text.assemble((f"{glyph} {_fit(queue.name, names)}", colour), "  ", bar, f" {_share(queue)}"))
    return _with_rest(lines, len(frame.queues), rows)


def _share(queue: QueueRow) -> str:
    """`12/8, 4 borrowed`."""
    if queue.deserved is None:
        return _amount(queue.allocated)
    borrowed = queue.allocated - queue.deserved
    more = f", {_amount(borrowed)} borrowed" if borrowed > 0 else ""
    return f"{_amount(queue.allocated)}/{_amount(queue.deserved)}{more}"


def _first(rows: Sequence[T], number: int) -> Sequence[T]:
    """Return the rows that fit, with a line for the number of the others."""
    return rows if len(rows) <= number else rows[: max(number - 1, 0)]


def _side_by_side(left: Sequence[Text], right: Sequence[Text]) -> list[Text]:
    width = max((line.cell_len for line in left), default=0) + 4
    lines = []
    for one, other in zip(left, right, strict=True):
        line = one.copy()
        line.pad_right(width - line.cell_len)
        lines.append(line.append_text(other))
    return lines


# -- events -----------------------------------------------------------------------------------------------------------


def _event_lines(events: Sequence[ViewEvent], rows: int) -> list[Text]:
    """Return the last events, newest first."""
    shown = list(reversed(events))[:rows]
    names = min(max((cell_len(event.job) for event in shown), default=0), 24)
    lines = [Text(" LAST EVENTS", style="bold")]
    for event in shown:
        message = (escape_controls(event.message), _EVENTS[event.kind])
        lines.append(Text.assemble((f" {clock(event.at)}  ", "dim"), f"{_fit(event.job, names)}  ", message))
    return lines


# -- words and numbers ------------------------------------------------------------------------------------------------


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


def unit(resource: str) -> str:
    return "GPU" if resource.endswith("/gpu") else resource.upper()


def _amount(milli: int) -> str:
    return f"{milli / 1000:g}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _fit(text: str, width: int) -> str:
    text = escape_controls(text)
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"
