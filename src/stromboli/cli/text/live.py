"""The live state of a cluster: a table that is updated in place, or a line per change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import escape_controls

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stromboli import kube
    from stromboli.cluster.state.cluster import Cluster
from stromboli.cluster.objects.pod_groups.pod_groups import queue_name_of

_COLOURS = {"Running": "green", "Completed": "dim", "Inqueue": "yellow", "Unknown": "red"}
_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class GroupLine:
    """The summary of a group."""

    key: str
    queue: str
    phase: str
    minimum: int
    pods: tuple[tuple[str, int], ...]
    reason: str

    @property
    def text(self) -> str:
        pods = ", ".join(f"{number} {phase}" for phase, number in self.pods)
        return f"{self.key}: {self.phase} ({pods or 'no pods'})" + (f": {self.reason}" if self.reason else "")


def lines_of(cluster: Cluster) -> list[GroupLine]:
    """Return one line per group, ordered by name."""
    return [_line(group, cluster.pods.of_job(key)) for key, group in sorted(cluster.groups.items())]


def _line(group: kube.PodGroup, pods: Iterable[kube.Pod]) -> GroupLine:
    phases = Counter(_phase(pod) for pod in pods)
    waits = [c for c in group.status.conditions or () if c.type == "Unschedulable" and c.status == "True"]
    phase = group.status.phase or "Pending"
    return GroupLine(
        key=group.key,
        queue=queue_name_of(group),
        phase=phase,
        minimum=group.spec.min_member or 0,
        pods=tuple(sorted(phases.items())),
        reason=(waits[0].message or "") if waits and phase != "Running" else "",
    )


def _phase(pod: kube.Pod) -> str:
    if pod.metadata.deletion_timestamp is not None:
        return "Terminating"
    phase = pod.status.phase or "Pending"
    return "Bound" if phase == "Pending" and pod.spec.node_name else phase


async def show_live(cluster: Cluster, until: asyncio.Event) -> None:
    """Show the groups until stopped."""
    with _shown() as show:
        while not until.is_set():
            show(lines_of(cluster))
            with_pause = asyncio.ensure_future(until.wait())
            await asyncio.wait({with_pause}, timeout=_PAUSE)
            with_pause.cancel()
        show(lines_of(cluster))


@contextmanager
def _shown() -> Iterator[Callable[[list[GroupLine]], None]]:
    """Show a live table on a terminal, and one line per change otherwise."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    if not console.is_terminal:
        yield _GroupPrinter().show
        return
    with Live(console=console, refresh_per_second=5) as live:
        yield lambda lines: live.update(_table(lines))


class _GroupPrinter:
    def __init__(self) -> None:
        self._printed: dict[str, str] = {}

    def show(self, lines: list[GroupLine]) -> None:
        for line in lines:
            if self._printed.get(line.key) != line.text:
                self._printed[line.key] = line.text
                click.echo(escape_controls(line.text))


def _table(lines: list[GroupLine]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("GROUP", "QUEUE", "PHASE", "MIN", "PODS", "WHY IT WAITS"):
        table.add_column(heading, overflow="fold")
    for line in lines:
        pods = ", ".join(f"{number} {phase}" for phase, number in line.pods)
        table.add_row(
            Text(escape_controls(line.key)),
            Text(escape_controls(line.queue)),
            Text(line.phase, style=_COLOURS.get(line.phase, "")),
            str(line.minimum),
            pods,
            Text(escape_controls(line.reason), style="dim"),
        )
    return table
