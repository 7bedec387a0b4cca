"""`stromboli simulate --trace`: the jobs of a trace in virtual time, in the cluster of the trace or of manifests."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.live import LIVE_PARAMETERS
from stromboli.cli.options.replay import replay_of
from stromboli.cli.options.settings import reject_options
from stromboli.cli.options.shards import SHARD_PARAMETERS
from stromboli.cli.options.traces import equal_nodes_of, trace_of
from stromboli.cli.output import Failure, Printout, plugin_failure
from stromboli.cli.scenario import WAITING, Scenario, read_program, read_scenario
from stromboli.cli.targets import written_target

if TYPE_CHECKING:
    from stromboli.simulator.results.run import SimulationRun
    from stromboli.simulator.traced.simulation import TraceProgress, TraceSimulation
    from stromboli.traces.trace import TraceNode

#: Kinds of objects that are jobs, or parts of one.
_JOBS = ("Pod", "PodGroup")
NOT_WITH_TRACES = (*LIVE_PARAMETERS, *SHARD_PARAMETERS, "now")


def replay_trace(trace: str, until: float, output: str, csv: str | None, **options: Any) -> None:
    """Simulate a trace and print its statistics. `until` is in seconds since the start of the trace."""
    reject_options(NOT_WITH_TRACES, "with --trace")
    if csv == "-" and output != "table":
        raise click.UsageError("--csv - and -o cannot both write to the standard output.")
    simulation, policy_warnings = _simulation(trace, options)
    run = _run(simulation, until)
    warnings = [*policy_warnings, *simulation.rejected_rows(), *run.warnings]
    if csv is not None:
        _write_jobs(run, csv)
    if csv != "-":
        _printout(run, warnings).echo(output)
    if any(not row for row in run.jobs.column("started") == run.jobs.column("started")):
        click.get_current_context().exit(WAITING)


def _simulation(trace: str, options: dict[str, Any]) -> tuple[TraceSimulation, Sequence[str]]:
    from stromboli.simulator.traced.simulation import TraceSimulation
    from stromboli.simulator.traced.workload import TracedWorkload
    from stromboli.simulator.worlds.fast_world import FastWorld
    from stromboli.traces.trace import TraceError

    opened = trace_of(trace, options)
    replay = replay_of(options, options["seed"])
    scenario, nodes = cluster_of_trace(options)
    try:
        workload = TracedWorkload(opened, replay, nodes, scenario.objects)
        world = FastWorld(
            scenario.program, workload.objects, scheduler_names=scenario.scheduler_names, seed=scenario.seed,
            now=workload.start,
        )  # fmt: skip
        simulation = TraceSimulation(workload, world, replay)
    except TraceError as error:
        raise Failure(error) from error
    return simulation, [*scenario.warnings, *scenario.program.configuration.warnings]


def cluster_of_trace(options: dict[str, Any]) -> tuple[Scenario, list[TraceNode]]:
    """Read the policy with the objects of the cluster, and the nodes that replace those of the trace."""
    nodes, scenario = equal_nodes_of(options), _scenario(options)
    if nodes and any(entry.kind_name == "Node" for entry in scenario.objects):
        raise click.UsageError("--nodes and the nodes of -f are two clusters; leave one out.")
    return scenario, nodes


def _scenario(options: dict[str, Any]) -> Scenario:
    """Read the policy, and the objects of the cluster, if files are named."""
    if not options["paths"]:
        return Scenario((), read_program(options), 1, options["seed"], options["scheduler_names"], [])
    scenario = read_scenario(cycles=1, **{**options, "offline": True})
    if scenario.dump is not None:
        raise click.UsageError("-f with --trace is a cluster of manifests; a dump is a trace itself.")
    jobs = [entry for entry in scenario.objects if entry.kind_name in _JOBS]
    if jobs:
        raise Failure(
            f"{jobs[0].kind_name} {jobs[0].key}: the jobs are those of the trace; name files without any, for nodes, "
            "queues and priority classes"
        )
    return scenario


def _run(simulation: TraceSimulation, until: float) -> SimulationRun:
    from stromboli.core.config.plugin import PluginFailure
    from stromboli.traces.trace import TraceError

    shows = sys.stderr.isatty()
    try:
        return simulation.run(until, _progress()) if shows else simulation.run(until)
    except PluginFailure as error:
        raise plugin_failure(error) from error
    except TraceError as error:
        raise Failure(error) from error
    finally:
        if shows:
            click.echo("\r\033[K", nl=False, err=True)


def _progress() -> TraceProgress:
    """Return a function that updates a progress line."""
    reported = 0.0

    def report(moment: float, submitted: int, ended: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _PROGRESS_INTERVAL:
            reported = time.monotonic()
            line = f"{moment / 3600:,.1f} h simulated, {submitted:,} jobs submitted, {ended:,} ended"
            click.echo(f"\r\033[K{line}", nl=False, err=True)

    return report


def _write_jobs(run: SimulationRun, target: str) -> None:
    from stromboli.simulator.results.rows import write_jobs

    with written_target(target) as file:
        write_jobs(run.jobs, file)


def _printout(run: SimulationRun, warnings: list[str]) -> Printout:
    from stromboli.cli.text.runs import echo_run
    from stromboli.simulator.results.summary import summary_of

    found = summary_of(run)
    return Printout(
        tables=lambda wide: echo_run(found, wide=wide), data=lambda: {**found, "warnings": warnings},
        names=lambda: (f"queue/{name}" for name in found["queues"]), warnings=warnings,
    )  # fmt: skip


#: Seconds between progress updates.
_PROGRESS_INTERVAL = 0.2
