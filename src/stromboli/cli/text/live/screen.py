"""Frames as text that fits a terminal exactly, with one glyph and colour per queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from stromboli.cli.output import escape_controls
from stromboli.cli.text.live.frame import SETTLED, Frame, JobRow, NodeRow, QueueRow

if TYPE_CHECKING:
    from stromboli.cli.text.live.cycles import ViewEvent

#: One glyph and colour per queue, by name: the view reads without colours, too.
_QUEUES = (("■", "cyan"), ("●", "magenta"), ("▲", "blue"), ("◆", "green"))
_NO_QUEUE = ("▪", "white")
_FREE, _LEAVING, _MARK = "·", "□", "│"
_PHASES = {"Running": "green", "Starting": "green", "Completed": "dim", "Unknown": "red"}
_EVENTS = {"Bound": "green", "Evicted": "red", "Submitted": "default", "Completed": "default"}
_MAX_CELLS = 24
#: Lines beside rows of jobs, nodes and events: header, caption, headings, blank lines and footer.
_CHROME = 9
_LEAST_ROWS = (7, 4, 4)


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
    looks = {row.name: _QUEUES[place % len(_QUEUES)] for place, row in enumerate(frame.queues)}
    wanted = (len(frame.jobs), max(len(frame.nodes), len(frame.queues)), len(view.events))
    jobs, nodes, events = _shares(wanted, max(height - _CHROME, 3))
    lines = [
        _header(view, width),
        Text(f" {escape_controls(view.caption)}", style="bold yellow"),
        Text(),
        *_job_lines(frame.jobs, jobs, width, looks),
        Text(),
        *_side_by_side(_node_lines(frame, nodes, looks), _queue_lines(frame, nodes, looks), nodes + 1),
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


def _job_lines(jobs: Sequence[JobRow], rows: int, width: int, looks: dict[str, tuple[str, str]]) -> list[Text]:
    names = min(max((cell_len(job.name) for job in jobs), default=3), width // 4)
    queues = min(max((cell_len(job.queue) + 2 for job in jobs), default=5), width // 5)
    heading = f" {'JOB':<{names}}  {'QUEUE':<{queues}}  {'PHASE':<9}  {'MIN':>3}  {'PODS':>5}  WHY IT WAITS"
    lines = [Text(heading, style="bold")]
    for job in _most_important(jobs, rows):
        glyph, colour = looks.get(job.queue, _NO_QUEUE)
        line = Text(" ")
        line.append(_fit(job.name, names))
        line.append("  ")
        line.append(_fit(f"{glyph} {job.queue}", queues), style=colour)
        line.append(f"  {job.phase:<9}", style=_PHASES.get(job.phase, "yellow"))
        line.append(f"  {job.minimum:>3}  {_pods(job):>5}  ")
        line.append(escape_controls(job.reason), style="yellow")
        lines.append(line)
    return _with_rest(lines, len(jobs), rows)


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


def _node_lines(frame: Frame, rows: int, looks: dict[str, tuple[str, str]]) -> list[Text]:
    largest = max((node.capacity for node in frame.nodes), default=0)
    cells, names = _cells(largest), min(max((cell_len(node.name) for node in frame.nodes), default=4), 16)
    heading = Text(f" {'NODE':<{names}}  {unit(frame.resource)}", style="bold")
    shown = frame.nodes if len(frame.nodes) <= rows else frame.nodes[: rows - 1]
    lines = [heading]
    for node in shown:
        bar = _node_bar(node, largest, cells, looks)
        amounts = f"  {_amount(sum(node.used.values()))}/{_amount(node.capacity)}"
        lines.append(Text.assemble(f" {_fit(node.name, names)}  ", bar, amounts))
    return _with_rest(lines, len(frame.nodes), rows)


def _node_bar(node: NodeRow, largest: int, cells: int, looks: dict[str, tuple[str, str]]) -> Text:
    parts = [(looks.get(queue, _NO_QUEUE), amount) for queue, amount in sorted(node.used.items())]
    bar = []
    for (glyph, colour), length in _lengths([*parts, ((_LEAVING, "red"), node.leaving)], largest, cells):
        bar += [Text(glyph, style=colour)] * length
    bar += [Text(_FREE, style="dim")] * (_scaled(node.capacity, largest, cells) - len(bar))
    bar += [Text(" ")] * (cells - len(bar))
    return Text(" " if 2 * cells <= _MAX_CELLS else "").join(bar)


def _lengths(
    parts: Iterable[tuple[tuple[str, str], int]], whole: int, cells: int
) -> Iterable[tuple[tuple[str, str], int]]:
    """Return the number of cells of each part, so that rounding errors do not add up."""
    total = 0
    for look, amount in parts:
        start, total = _scaled(total, whole, cells), total + amount
        yield look, _scaled(total, whole, cells) - start


def _scaled(amount: int, whole: int, cells: int) -> int:
    return round(amount * cells / whole) if whole else 0


def _cells(amount: int) -> int:
    """Return the length of a bar: one cell per unit, if that is not too long."""
    units = -(-amount // 1000)
    return units if units <= _MAX_CELLS else _MAX_CELLS


def _queue_lines(frame: Frame, rows: int, looks: dict[str, tuple[str, str]]) -> list[Text]:
    names = min(max((cell_len(queue.name) for queue in frame.queues), default=5), 16)
    heading = Text(f"{'QUEUE':<{names + 2}}  {unit(frame.resource)} allocated{_MARK}deserved", style="bold")
    shown = frame.queues if len(frame.queues) <= rows else frame.queues[: rows - 1]
    lines = [heading, *(_queue_line(queue, frame, names, looks) for queue in shown)]
    return _with_rest(lines, len(frame.queues), rows)


def _queue_line(queue: QueueRow, frame: Frame, names: int, looks: dict[str, tuple[str, str]]) -> Text:
    cells, whole = _cells(frame.capacity), frame.capacity
    glyph, colour = looks[queue.name]
    full = _scaled(queue.allocated, whole, cells)
    bar = Text(glyph * full + _FREE * (cells - full))
    bar.stylize("dim", full)
    bar.stylize(colour, 0, full)
    text = f" {_amount(queue.allocated)}"
    if queue.deserved is not None:
        mark = min(_scaled(queue.deserved, whole, cells), cells)
        bar.stylize("bold yellow", mark, max(full, mark))
        bar = Text.assemble(bar[:mark], (_MARK, "bold"), bar[mark:])
        text += f"/{_amount(queue.deserved)}"
        if queue.allocated > queue.deserved:
            text += f", {_amount(queue.allocated - queue.deserved)} borrowed"
    return Text.assemble((f"{glyph} {_fit(queue.name, names)}", colour), "  ", bar, text)


def _side_by_side(left: Sequence[Text], right: Sequence[Text], rows: int) -> list[Text]:
    width = max((line.cell_len for line in left), default=0) + 4
    lines = []
    for place in range(rows):
        line = left[place].copy()
        line.pad_right(width - line.cell_len)
        lines.append(line.append_text(right[place]))
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
