"""`stromboli simulate`: run a workload in virtual time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.comparison import COMPARISON_PARAMETERS, comparison_options
from stromboli.cli.options.replay import REPLAY_PARAMETERS, replay_options
from stromboli.cli.options.settings import DURATION, output_option, reject_options
from stromboli.cli.options.times import TIMESTAMP, now_option
from stromboli.cli.output import Failure, Printout, job_name, plugin_failure
from stromboli.cli.scenario import WAITING, Scenario, read_scenario, simulation_options
from stromboli.cli.traced.comparing import compare_policies, is_comparison
from stromboli.cli.traced.replay import replay_trace

if TYPE_CHECKING:
    from stromboli.simulator.measurements import SimulationMeasurements
    from stromboli.simulator.simulation import Simulation

_EPILOG = """\b
Examples:
  stromboli simulate -f examples/day
  stromboli simulate -f examples/day --conf examples/day/easy.conf --until 24h
  stromboli simulate -f examples/day -o json | jq .waits
  stromboli simulate --trace examples/traces/lublin.swf
  stromboli simulate --trace examples/traces/lublin.swf --seeds 2 \\
    --conf examples/policies/fcfs.conf --conf examples/policies/easy.conf
  stromboli simulate --trace examples/traces/accounting.txt --nodes 4 \\
    --cpus-per-node 16 --queues user --estimates learned

\b
On pods and PodGroups:
  scheduling.stromboli.dev/arrives-after: 10m  time from start to arrival
  scheduling.stromboli.dev/run-time: 1h30m     or spec.activeDeadlineSeconds

\b
Exit codes:
  0  every job has started
  1  invalid input
  2  wrong usage
  3  a job still waits at the end, or an object could not be judged
"""

#: Seconds between progress updates.
_PROGRESS_INTERVAL = 0.2


@dataclass(frozen=True, slots=True)
class _End:
    """A time, or a duration since the start."""

    seconds: float
    is_duration: bool


class _Until(click.ParamType[_End]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> _End:
        if isinstance(value, _End):
            return value
        kind = TIMESTAMP if "T" in value else DURATION
        return _End(kind.convert(value, param, ctx), kind is DURATION)


@click.command(epilog=_EPILOG)
@simulation_options
@replay_options
@comparison_options
@click.option(
    "--until", type=_Until(), metavar="TIME",
    help="The end, as a duration since the start (24h) or a time (2026-01-02T00:00:00Z). Default: when no events are "
    "left.",
)  # fmt: skip
@now_option(
    "The time of the start, such as 2026-01-01T12:00:00Z. Default: the earliest creation time of the waiting objects."
)
@output_option()
def simulate(
    until: _End | None, now: float | None, output: str, trace: str | None, conf: tuple[str, ...], **options: Any
) -> None:
    """Run manifests, a cluster, or a trace in virtual time.

    Jobs arrive by their annotations or creation timestamps, pods run for their declared run time, and the scheduler
    decides as in a cluster. A day takes seconds. Files without nodes are added to the cluster of the kubeconfig, whose
    present state is the start. Nothing is written.
    """
    if trace is not None and is_comparison(conf):
        compare_policies(trace, _seconds_of(until), output, conf, **options)
        return
    if trace is None:
        reject_options((*REPLAY_PARAMETERS, *COMPARISON_PARAMETERS), "without --trace")
    if len(conf) > 1:
        raise click.UsageError("Several --conf need --trace: they are compared on its jobs.")
    for name in COMPARISON_PARAMETERS:
        del options[name]
    options["conf"] = conf[0] if conf else None
    if trace is not None:
        replay_trace(trace, _seconds_of(until), output, now=now, **options)
        return
    for name in REPLAY_PARAMETERS:
        del options[name]
    scenario = read_scenario(cycles=1, now=now, **options)
    simulation = _simulation(scenario, scenario.now if scenario.is_live else now)
    measured = _run(simulation, _moment(until, simulation))
    of_run = map(scenario.located, simulation.warnings)
    warnings = [*scenario.warnings, *scenario.program.configuration.warnings, *of_run]
    _printout(measured, simulation, warnings).echo(output)
    if not scenario.is_judged or any(record.started is None for record in measured.jobs.values()):
        click.get_current_context().exit(WAITING)


def _printout(measured: SimulationMeasurements, simulation: Simulation, warnings: list[str]) -> Printout:
    from stromboli.cli.text.simulation import echo_measurements
    from stromboli.simulator.report import report_of

    return Printout(
        tables=lambda wide: echo_measurements(
            measured, simulation.why_waiting if wide else simulation.summary_of_waiting, wide=wide
        ),
        data=lambda: report_of(measured, simulation.why_waiting, warnings),
        names=lambda: map(job_name, sorted(measured.jobs)),
        warnings=warnings,
    )


def _simulation(scenario: Scenario, now: float | None) -> Simulation:
    from stromboli.simulator.simulation import Simulation
    from stromboli.simulator.workload import workload_of

    if scenario.dump is None:
        workload = workload_of(scenario.objects, now)
    else:
        workload = workload_of(scenario.dump.contents.objects, scenario.dump.now)  # type: ignore[arg-type]
    return Simulation(
        workload, scenario.program, scheduler_names=scenario.scheduler_names, seed=scenario.seed, shard=scenario.shard
    )


def _seconds_of(until: _End | None) -> float:
    """Return the end of a trace, which is a duration since its start."""
    if until is not None and not until.is_duration:
        raise click.UsageError("--until with --trace is a duration since its start, such as 24h.")
    return inf if until is None else until.seconds


def _moment(until: _End | None, simulation: Simulation) -> float:
    if until is None:
        return inf
    start = simulation.measurements.start
    moment = start + until.seconds if until.is_duration else until.seconds
    if moment < start:
        raise Failure("--until is before the first arrival; use a later time, or a duration such as 24h")
    return moment


def _run(simulation: Simulation, until: float) -> SimulationMeasurements:
    from stromboli.core.config.plugin import PluginFailure

    try:
        return simulation.run(until, _progress(simulation)) if sys.stderr.isatty() else simulation.run(until)
    except PluginFailure as error:
        raise plugin_failure(error) from error
    finally:
        if sys.stderr.isatty():
            click.echo("\r\033[K", nl=False, err=True)


def _progress(simulation: Simulation) -> Callable[[float, int], None]:
    """Return a function that updates a progress line."""
    reported = 0.0

    def report(moment: float, left: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _PROGRESS_INTERVAL:
            reported = time.monotonic()
            hours = (moment - simulation.measurements.start) / 3600
            line = f"{hours:,.1f} h simulated, {len(simulation.measurements.jobs):,} jobs, {left:,} events left"
            click.echo(f"\r\033[K{line}", nl=False, err=True)

    return report
