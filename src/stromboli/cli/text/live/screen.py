"""Frames as text that fits a terminal exactly, with one glyph and colour per queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from stromboli.cli.output import escape_controls
from stromboli.cli.text.live.bars import queue_looks
from stromboli.cli.text.live.frame import Frame
from stromboli.cli.text.live.job_table import job_lines
from stromboli.cli.text.live.rows import amount, clock, counted, fit, unit
from stromboli.cli.text.live.usage import usage_lines

if TYPE_CHECKING:
    from stromboli.cli.text.live.cycles import ViewEvent

_EVENTS = {"Bound": "green", "Evicted": "red", "Submitted": "default", "Completed": "default", "Policy": "yellow"}
#: Lines beside the caption and rows of jobs, nodes and events: header, headings, blank lines and footer.
_CHROME = 9
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
    caption = [Text(f" {escape_controls(view.caption)}", style="bold yellow")] if view.caption else []
    wanted = (len(frame.jobs), max(len(frame.nodes), len(frame.queues)), len(view.events))
    jobs, nodes, events = _shares(wanted, max(height - _CHROME - len(caption), 3))
    lines = [
        _header(view, width),
        *caption,
        Text(),
        *job_lines(frame.jobs, jobs, width, looks),
        Text(),
        *usage_lines(frame, nodes, width, looks),
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
    left = Text.assemble((f" {view.title}", "bold"), f"  {counted(len(frame.nodes), 'node')}")
    left.append(f"   {unit(frame.resource)} {amount(frame.used)}/{amount(frame.capacity)} in use")
    left.append(f"   pods {running}/{pods} running")
    return _with_right_end(left, clock(view.elapsed), width - 1)


def _with_right_end(left: Text, right: str, width: int) -> Text:
    left.pad_right(max(width - left.cell_len - len(right), 1))
    return left.append(right, style="dim")


def _event_lines(events: Sequence[ViewEvent], rows: int) -> list[Text]:
    """Return the last events, newest first."""
    shown = list(reversed(events))[:rows]
    names = min(max((cell_len(event.subject) for event in shown), default=0), 24)
    lines = [Text(" LAST EVENTS", style="bold")]
    for event in shown:
        message = (escape_controls(event.message), _EVENTS[event.kind])
        lines.append(Text.assemble((f" {clock(event.at)}  ", "dim"), f"{fit(event.subject, names)}  ", message))
    return lines
