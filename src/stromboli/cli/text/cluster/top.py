"""The full-screen view of a cluster: jobs, queues and nodes, one at a time, as text that fits a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from stromboli.cli.output import escape_controls
from stromboli.cli.text.cluster.jobs import PHASE_COLOURS, jobs_table
from stromboli.cli.text.cluster.nodes import nodes_table
from stromboli.cli.text.cluster.queues import queues_table
from stromboli.cli.text.live.rows import counted
from stromboli.cli.text.tables import Table, aligned
from stromboli.core.model.queues.queue import ROOT
from stromboli.planner.overview.job_list import JobEntry
from stromboli.planner.overview.node_list import NodeListEntry
from stromboli.planner.overview.queue_list import QueueEntry

VIEWS = ("jobs", "queues", "nodes")
_HELP = " 1 2 3 Tab: view   arrows, PgUp, PgDn: scroll   w: waiting jobs only   q: quit"
#: Lines beside the rows of the table: title, views, blank line, header of the table, footer.
_CHROME = 5


@dataclass(frozen=True, slots=True)
class TopFrame:
    """What is known of a cluster at one moment."""

    jobs: Sequence[JobEntry]
    queues: Sequence[QueueEntry]
    nodes: Sequence[NodeListEntry]
    now: float
    #: The cluster, and the time of the frame.
    title: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class TopState:
    """What the user looks at."""

    view: str = VIEWS[0]
    offset: int = 0
    only_waiting: bool = False
    is_over: bool = False

    def after(self, key: str, page: int) -> TopState:
        """Return the state after a key; `page` is the number of rows on the screen."""
        if key in ("q", "Q", "\x03", "\x04"):
            return replace(self, is_over=True)
        if key in ("1", "2", "3"):
            return replace(self, view=VIEWS[int(key) - 1], offset=0)
        if key == "\t":
            return replace(self, view=VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)], offset=0)
        if key in ("w", "W"):
            return replace(self, only_waiting=not self.only_waiting, offset=0)
        return replace(self, offset=max(self.offset + _STEPS.get(key, 0) * (page if key in _PAGES else 1), 0))


_BEGINNING = -(1 << 30)
_STEPS = {
    "\x1b[A": -1,
    "k": -1,
    "\x1b[B": 1,
    "j": 1,
    "\x1b[5~": -1,
    "\x1b[6~": 1,
    " ": 1,
    "\x1b[H": _BEGINNING,
    "g": _BEGINNING,
}
_PAGES = ("\x1b[5~", "\x1b[6~", " ")


def rows_of_screen(height: int) -> int:
    return max(height - _CHROME, 1)


def rendered(frame: TopFrame, state: TopState, width: int, height: int, problem: str = "") -> list[Text]:
    """Return exactly `height` lines of at most `width` columns."""
    header, *rows = aligned(_table(frame, state).narrow())
    page = rows_of_screen(height)
    offset = max(min(state.offset, len(rows) - page), 0)
    shown = [_coloured(line) for line in rows[offset : offset + page]]
    lines = [_title(frame, width), _views(frame, state), Text(), Text(f" {header}", style="bold"), *shown]
    lines += [Text()] * (height - 1 - len(lines))
    return [_cut(line, width) for line in (*lines[: height - 1], _footer(len(rows), offset, page, problem))]


def _table(frame: TopFrame, state: TopState) -> Table:
    match state.view:
        case "jobs":
            jobs = [job for job in frame.jobs if job.waits or not state.only_waiting]
            return jobs_table(jobs, frame.now, with_namespace=True)
        case "queues":
            return queues_table([queue for queue in frame.queues if queue.name != ROOT])
        case _:
            return nodes_table(frame.nodes)


def _title(frame: TopFrame, width: int) -> Text:
    waiting = sum(job.waits for job in frame.jobs)
    left = Text.assemble((" stromboli top", "bold"), f"  {escape_controls(frame.title)}")
    left.append(f"   {counted(len(frame.jobs), 'job')}, {waiting} waiting", style="yellow" if waiting else "")
    left.pad_right(max(width - 1 - left.cell_len - len(frame.time), 1))
    return left.append(frame.time, style="dim")


def _views(frame: TopFrame, state: TopState) -> Text:
    line = Text()
    numbers = (len(frame.jobs), len([queue for queue in frame.queues if queue.name != ROOT]), len(frame.nodes))
    for place, (view, number) in enumerate(zip(VIEWS, numbers, strict=True), start=1):
        style = "reverse" if view == state.view else "dim"
        line.append(" ").append(f" {place} {view.capitalize()} {number} ", style=style)
    return line.append("  waiting only" if state.only_waiting and state.view == "jobs" else "", style="yellow")


def _coloured(line: str) -> Text:
    """Colour the phase of a job or the status of a node."""
    text = Text(f" {escape_controls(line)}")
    for word, style in {**PHASE_COLOURS, "Ready": "green", "NotReady": "red"}.items():
        text.highlight_regex(rf"(?<=\s){word}(?=\s)", style)
    return text


def _footer(rows: int, offset: int, page: int, problem: str) -> Text:
    if problem:
        return Text(f" {escape_controls(problem)}", style="bold red")
    part = f"   {offset + 1}-{min(offset + page, rows)} of {rows}" if rows > page else ""
    return Text(f"{_HELP}{part}", style="dim")


def _cut(line: Text, width: int) -> Text:
    line.truncate(width - 1, overflow="ellipsis")
    return line
