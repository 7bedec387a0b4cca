"""`stromboli top`: jobs, queues and nodes on the whole screen, refreshed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_scenario import objects_of, read_view, view_options
from stromboli.cli.options.settings import Duration
from stromboli.cli.options.times import clock_unless
from stromboli.cli.output import Failure
from stromboli.cli.past_usage import past_usage_option, with_past_usage

if TYPE_CHECKING:
    from stromboli.cli.text.cluster.top import TopFrame

#: How long the screen waits for a key before it looks for a new frame.
_TICK_SECONDS = 0.1

_EPILOG = """\b
Examples:
  stromboli top
  stromboli top --interval 10s --context production

\b
Keys:
  1 2 3 Tab         jobs, queues, nodes; the next one
  arrows PgUp PgDn  scroll
  w                 only jobs that wait
  q                 quit

\b
Exit codes:
  0  quit
  1  invalid input, no terminal, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--interval", type=Duration(0.2), default=2.0, show_default="2s", metavar="DURATION", help="Time between refreshes."
)
@view_options
@past_usage_option()
def top(interval: float, **options: Any) -> None:
    """Show jobs, queues and nodes on the whole screen.

    The view refreshes until it is quit. It reads only, and shows what the commands jobs, queues and nodes show.
    """
    frames = _Frames(options, interval)
    frames.take()  # an error of the first frame ends the command
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure("top needs a terminal; elsewhere use stromboli jobs, queues or nodes")
    _show(frames)


class _Frames:
    """Takes frames in a thread, so that keys are answered meanwhile. A failure keeps the last frame."""

    def __init__(self, options: Mapping[str, Any], interval: float) -> None:
        self._options, self._interval = options, interval
        self._context = click.get_current_context()
        self._stopped = threading.Event()
        self.last: TopFrame | None = None
        self.problem = ""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def take(self) -> None:
        self.last = _frame(self._options)
        self.problem = ""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        with self._context.scope(cleanup=False):
            while not self._stopped.wait(self._interval):
                try:
                    self.take()
                except click.ClickException as error:
                    self.problem = error.format_message()


def _show(frames: _Frames) -> None:
    from rich.console import Console
    from rich.live import Live

    from stromboli.cli.keyboard import keys
    from stromboli.cli.text.tables import is_styled

    console = Console(highlight=False, color_system="auto" if is_styled() else None)
    frames.start()
    try:
        with keys() as read_key, Live(console=console, screen=True, auto_refresh=False) as live:
            _answer_keys(frames, read_key, live, console)
    except KeyboardInterrupt:
        return
    finally:
        frames.stop()


def _answer_keys(frames: _Frames, read_key: Callable[[float], str], live: Any, console: Any) -> None:
    """Draw what has changed, until the user quits."""
    from rich.console import Group

    from stromboli.cli.text.cluster.top import TopState, rendered, rows_of_screen

    state, drawn = TopState(), None
    while not state.is_over:
        width, height = console.size
        shown = frames.last, state, width, height, frames.problem
        if frames.last is not None and shown != drawn:
            lines = rendered(frames.last, state, width, height, frames.problem)
            live.update(Group(*lines), refresh=True)
            drawn = shown
        state = state.after(read_key(_TICK_SECONDS), rows_of_screen(height))


def _frame(options: Mapping[str, Any]) -> TopFrame:
    """Read the cluster once."""
    from stromboli.cli.job_source import job_objects
    from stromboli.cli.text.cluster.top import TopFrame
    from stromboli.planner.overview.node_list import listed_nodes
    from stromboli.planner.overview.planned_jobs import planned_jobs
    from stromboli.planner.overview.queue_list import listed_queues

    scenario = with_past_usage(read_view(options), options)
    session = scenario.open().session
    queues, nodes = listed_queues(session), listed_nodes(session)
    reported = job_objects(objects_of(scenario))
    is_reported = scenario.is_live or reported.has_reports
    jobs = reported.jobs() if is_reported else planned_jobs(scenario.plan())
    now = scenario.dump.now if scenario.dump else clock_unless(scenario.now)
    title = "" if options["paths"] else options["context"] or ""
    return TopFrame(jobs, queues, nodes, now, title, time.strftime("%H:%M:%S"))
