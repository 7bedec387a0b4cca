"""`stromboli demo`: a guided look at the scheduler, in half a minute."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.examples import examples_folder
from stromboli.cli.local_kubeconfig import check_kubeconfig_path, state_folder, temporary_kubeconfig, view_footer
from stromboli.cli.options.connection import log_options
from stromboli.cli.options.settings import DURATION

if TYPE_CHECKING:
    from stromboli.cli.stages import ManifestStage
    from stromboli.cli.text.live.display import LiveView
    from stromboli.local.up.local_cluster import LocalCluster
    from stromboli.scheduler.policy import ActivePolicy

EXAMPLE, POLICY = "demo", "volcano-scheduler.conf"
TITLE = "stromboli demo"
SECONDS = 30.0

_EPILOG = """\b
Examples:
  stromboli demo
  stromboli demo --for 10s --kubeconfig demo.kubeconfig

\b
Exit codes:
  0  the end was reached, or Ctrl-C was pressed
  1  invalid input, such as a kubeconfig that cannot be written
  2  wrong usage
"""

NEXT = """
Next:
  stromboli examples copy                   write the manifests to ./examples
  stromboli explain -f examples/demo giant  why a job waits, and what would help
  stromboli up                              a local cluster for kubectl"""


@click.command(epilog=_EPILOG)
@click.option(
    "--for", "duration", type=DURATION, default=SECONDS, show_default="30s", metavar="DURATION",
    help="Stop after this time.",
)  # fmt: skip
@click.option(
    "--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="The file for the kubeconfig. Default: in the state folder of the command.",
)  # fmt: skip
@log_options
def demo(**options: Any) -> None:
    """Show what the scheduler does, in half a minute.

    Gangs start, a queue borrows capacity and returns it, an urgent job preempts, and a job that can never start reports
    why. The cluster runs in this process: an API server, the production scheduler and simulated nodes, as with
    `stromboli up`. On a terminal the state is shown live, elsewhere one line per change. Ctrl-C stops it.
    """
    from stromboli.cli.stages import read_stages
    from stromboli.observability.logs import set_up_logs

    path = options["kubeconfig"] or state_folder() / "demo-kubeconfig"
    check_kubeconfig_path(path)
    level = "error" if options["log_level"] == "info" else options["log_level"]
    set_up_logs(log_format=options["log_format"], level=level)
    stages = read_stages([str(examples_folder() / EXAMPLE)])
    view = asyncio.run(_run(demo_policy(), stages, path, options["duration"]))
    _print_summary(view)


def demo_policy() -> ActivePolicy:
    from stromboli.registry import built_in_registry
    from stromboli.scheduler.policy import ActivePolicy

    return ActivePolicy(built_in_registry(), str(examples_folder() / EXAMPLE / POLICY))


async def _run(policy: ActivePolicy, stages: Sequence[ManifestStage], path: Path, duration: float) -> LiveView:
    from stromboli.cli.text.live.display import LiveView
    from stromboli.local.api_server.server import ApiServer
    from stromboli.local.up.local_cluster import local_cluster
    from stromboli.observability.signals import stopped_by_signal

    stop, server = asyncio.Event(), ApiServer()
    with stopped_by_signal(stop.set):
        async with local_cluster(policy, server=server) as running:
            with temporary_kubeconfig(server, path):
                view = LiveView(running.scheduler, TITLE, view_footer(path))
                await running.run_until(stop, duration, view.run(), play(running, view, stages))
                return view


async def play(running: LocalCluster, view: LiveView, stages: Sequence[ManifestStage]) -> None:
    """Submit every stage at its time."""
    from stromboli.kube.client.apply import Applier

    applier, last = Applier(running.client), len(stages) - 1
    for number, stage in enumerate(stages):
        await asyncio.sleep(stage.at - view.elapsed())
        view.caption = f"{number}/{last}  {stage.caption}" if number else ""
        await applier.apply(stage.documents)


def _print_summary(view: LiveView) -> None:
    """Print what became of the jobs, and what to try next."""
    from stromboli.cli.text.tables import Table, echo_table

    table = Table(("JOB", "QUEUE", "PHASE", "BOUND", "EVICTED", "WHY IT WAITS"), right=("BOUND", "EVICTED"))
    table.flexible = ("WHY IT WAITS",)
    cycles, state = view.cycles, view.take()
    for job in state.frame.jobs:
        table.add(job.name, job.queue, job.phase, str(cycles.bound[job.key]), str(cycles.evicted[job.key]), job.reason)
    totals = f"{cycles.bound.total()} pods were bound and {cycles.evicted.total()} evicted"
    click.echo(f"In {state.elapsed:.0f} s, {totals}:\n")
    echo_table(table)
    click.echo(NEXT)
