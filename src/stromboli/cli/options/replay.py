"""Options of a simulated trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import DURATION, option_group
from stromboli.cli.options.traces import node_options, trace_format_options

if TYPE_CHECKING:
    from stromboli.simulator.traced.chance import DurationDistribution
    from stromboli.simulator.traced.options import ReplayOptions

_LAYOUTS = ("processors", "nodes", "pool")
_ESTIMATES = ("requested", "actual", "none", "learned")
_OVER_LIMIT = ("kill", "run-on")
_QUEUES = ("one", "queue", "user", "group")
#: The options that have an effect with `--trace` only.
REPLAY_PARAMETERS = (
    "trace_format", "trace_nodes", "mapping", "node_count", "cpus_per_node", "gpus_per_node", "layout", "estimates",
    "over_limit", "queues", "jobs", "start_latency", "failures", "retries", "checkpoint_interval", "period", "csv",
)  # fmt: skip


class _Distribution(click.ParamType["DurationDistribution"]):
    name = "distribution"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> DurationDistribution:
        from stromboli.simulator.traced.chance import DurationDistribution, parse_distribution

        if isinstance(value, DurationDistribution):
            return value
        try:
            return parse_distribution(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


replay_options = option_group(
    click.option("--trace", metavar="FILE", help="Simulate the jobs of a trace. -f names the cluster, if anything."),
    trace_format_options,
    node_options,
    click.option(
        "--layout", type=click.Choice(_LAYOUTS), default="processors", show_default=True,
        help="Pods of a job: as in the trace, one per whole node, or a single one in a cluster that is one pool.",
    ),
    click.option(
        "--estimates", type=click.Choice(_ESTIMATES), default="requested", show_default=True,
        help="The run times that the scheduler sees; learned ones are those of the user's last jobs.",
    ),
    click.option(
        "--over-limit", type=click.Choice(_OVER_LIMIT), default="kill", show_default=True,
        help="What happens to jobs at their requested run time.",
    ),
    click.option(
        "--queues", type=click.Choice(_QUEUES), default="one", show_default=True,
        help="The property of jobs that names their queue.",
    ),
    click.option("--jobs", type=click.IntRange(1), metavar="N", help="Only the first N jobs of the trace."),
    click.option(
        "--start-latency", type=_Distribution(), metavar="DISTRIBUTION",
        help="From the binding of a pod to its start: 5s, uniform:1s,9s, exponential:MEAN, lognormal:MEDIAN,SIGMA.",
    ),
    click.option(
        "--failures", type=_Distribution(), metavar="DISTRIBUTION",
        help="From the start of a pod to its failure, such as exponential:1000h or weibull:SCALE,SHAPE.",
    ),
    click.option(
        "--retries", type=click.IntRange(0), default=3, show_default=True, metavar="N",
        help="How often a job with failed pods is tried again.",
    ),
    click.option(
        "--checkpoint", "checkpoint_interval", type=DURATION, metavar="TIME",
        help="The interval of jobs that declare none. Interrupted jobs start again from their last checkpoint.",
    ),
    click.option(
        "--period", type=DURATION, default="1s", show_default=True, metavar="TIME",
        help="Time between two cycles, at least.",
    ),
    click.option("--csv", metavar="TARGET", help="Write a row per job to a file, or to the standard output for -."),
)  # fmt: skip


def replay_of(options: dict[str, Any], seed: int) -> ReplayOptions:
    """Return how a trace is simulated, by the options of a command, which are removed from them."""
    from stromboli.simulator.traced.options import ReplayOptions

    names = (
        "layout", "estimates", "over_limit", "queues", "jobs", "start_latency", "failures", "retries",
        "checkpoint_interval", "period",
    )  # fmt: skip
    values = {name: options.pop(name) for name in names}
    if values["checkpoint_interval"] is None:
        values["checkpoint_interval"] = float("inf")
    return ReplayOptions(seed=seed, **values)
