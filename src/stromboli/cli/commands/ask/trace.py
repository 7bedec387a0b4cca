"""`stromboli trace`: summarise, convert and generate traces of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from stromboli.cli.options.settings import DURATION, output_option
from stromboli.cli.options.traces import equal_nodes_of, node_options, trace_format_options, trace_of
from stromboli.cli.output import Failure, Printout, warn
from stromboli.cli.targets import written_target

if TYPE_CHECKING:
    from stromboli.traces.generators.poisson import JobSize
    from stromboli.traces.trace import Trace

_EXIT_CODES = """
\b
Exit codes:
  0  done
  1  invalid input
  2  wrong usage
"""
_INFO = """\b
Examples:
  stromboli trace info examples/traces/lublin.swf
  stromboli trace info examples/traces/pods.csv \\
    --trace-nodes examples/traces/nodes.csv -o json
"""
_CONVERT = """\b
Examples:
  stromboli trace convert examples/traces/accounting.txt
  stromboli trace convert examples/traces/lublin.swf --format csv > jobs.csv
"""
_LUBLIN = """\b
Examples:
  stromboli trace generate lublin --processors 256 --jobs 1000
"""
_POISSON = """\b
Examples:
  stromboli trace generate poisson --nodes 32 --load 0.9
  stromboli trace generate poisson --nodes 32 --gpus-per-node 8 \\
    --gpus 1 --sizes 1:0.5,8:0.5 --format csv
"""


@click.group()
def trace() -> None:
    """Summarise, convert and generate traces of jobs."""


@trace.command(epilog=_INFO + _EXIT_CODES)
@click.argument("file")
@trace_format_options
@output_option()
def info(file: str, output: str, **options: Any) -> None:
    """Summarise a trace: jobs, sizes, run times, load, and the rows that are skipped.

    FILE is a trace in the Standard Workload Format, a table of openb, PAI, Philly or Helios, the output of sacct
    --parsable2, a history or a dump; also compressed with gzip.
    """
    from stromboli.cli.text.traces import echo_summary
    from stromboli.traces.statistics import as_plain, summary_of
    from stromboli.traces.trace import TraceError

    opened = trace_of(file, options)
    try:
        found = as_plain(opened, summary_of(opened))
    except TraceError as error:
        raise Failure(error) from error
    warnings = list(opened.rejected.warnings())
    if found["outOfOrder"]:
        warnings.append(f"{found['outOfOrder']:,} jobs were submitted before their predecessors; convert with --sort")
    Printout(
        tables=lambda wide: echo_summary(found, wide=wide), data=lambda: {**found, "warnings": warnings},
        names=lambda: (f"queue/{name}" for name in found["queues"] if name), warnings=warnings,
    ).echo(output)  # fmt: skip


_TARGET = click.argument("target", default="-")
_FORMAT = click.option(
    "--format", "form", type=click.Choice(("swf", "csv")), help="The format. Default: by the name of TARGET, else swf."
)


@trace.command(epilog=_CONVERT + _EXIT_CODES)
@click.argument("file")
@_TARGET
@trace_format_options
@_FORMAT
@click.option("--sort", is_flag=True, help="Order the jobs by submit time, in memory.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Only the first N jobs.")
def convert(file: str, target: str, form: str | None, sort: bool, jobs: int | None, **options: Any) -> None:
    """Convert a trace to the Standard Workload Format, or to a table with all its properties.

    TARGET is a file, or - for the standard output.
    """
    from stromboli.traces.trace import first_jobs, ordered

    opened = trace_of(file, options)
    chosen = ordered(opened, sort=sort)
    warnings = _write(chosen if jobs is None else first_jobs(chosen, jobs), target, form)
    warn([*opened.rejected.warnings(), *warnings])


@trace.group()
def generate() -> None:
    """Generate a synthetic trace. The same parameters and seed give the same trace."""


_JOBS = click.option("--jobs", type=click.IntRange(1), default=1000, show_default=True, help="The number of jobs.")
_SEED = click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of all draws.")


@generate.command(epilog=_LUBLIN + _EXIT_CODES)
@_TARGET
@_JOBS
@click.option("--processors", type=click.IntRange(1), default=128, show_default=True, help="Size of the machine.")
@_SEED
@_FORMAT
def lublin(target: str, jobs: int, processors: int, seed: int, form: str | None) -> None:
    """Draw from the model of Lublin and Feitelson: parallel jobs with a daily cycle.

    TARGET is a file, or - for the standard output.
    """
    from stromboli.traces.generators.lublin import lublin as draw

    warn(_write(draw(jobs, processors, seed), target, form))


class _Sizes(click.ParamType["tuple[JobSize, ...]"]):
    """`1:0.5,8:0.3`: numbers of pods with their weights."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[JobSize, ...]:
        from stromboli.traces.generators.poisson import JobSize

        if isinstance(value, tuple):
            return value
        try:
            parts = [part.partition(":") for part in str(value).split(",")]
            sizes = tuple(JobSize(int(pods), float(weight or 1)) for pods, _, weight in parts)
        except ValueError:
            sizes = ()
        if not sizes or any(size.pods < 1 or not 0 < size.weight < float("inf") for size in sizes):
            self.fail(f"{value!r} is not a list such as 1:0.5,8:0.3 of pods with weights above zero", param, ctx)
        return sizes


@generate.command(epilog=_POISSON + _EXIT_CODES)
@_TARGET
@_JOBS
@node_options
@click.option(
    "--load",
    type=click.FloatRange(0, min_open=True),
    default=0.8,
    show_default=True,
    help="The offered work as a fraction of the capacity: of the GPUs if jobs have any, else of the processors.",
)
@click.option("--sizes", type=_Sizes(), default="1", metavar="N:W,...", help="Pods of jobs with weights: 1:0.5,8:0.3.")
@click.option("--run-time", type=DURATION, default="1h", show_default=True, help="The mean run time.")
@click.option("--cpus", type=click.IntRange(0), default=1, show_default=True, help="Processors of a pod.")
@click.option("--gpus", type=click.FloatRange(0), default=0.0, show_default=True, help="GPUs of a pod, such as 0.5.")
@_SEED
@_FORMAT
def poisson(target: str, jobs: int, load: float, seed: int, form: str | None, **options: Any) -> None:
    """Draw Poisson arrivals at a load of a cluster, and exponential run times.

    TARGET is a file, or - for the standard output.
    """
    from stromboli.traces.generators.poisson import PoissonWorkload
    from stromboli.traces.generators.poisson import poisson as draw

    gpus_per_node = options["gpus_per_node"]
    nodes = equal_nodes_of(options)
    if not nodes:
        raise click.UsageError("Missing option '--nodes', by which the load is measured.")
    gpu = round(options["gpus"] * 1000)
    if gpu > 1000 and gpu % 1000:
        raise click.UsageError("--gpus is a fraction below 1, or a whole number.")
    if not (options["cpus"] or gpu) or options["run_time"] <= 0:
        raise click.UsageError("Jobs without requests or run time give no load; raise --cpus, --gpus or --run-time.")
    if gpu and not gpus_per_node:
        raise click.UsageError("--gpus needs nodes with GPUs: name their number with --gpus-per-node.")
    workload = PoissonWorkload(
        jobs, load, nodes, options["sizes"], options["run_time"], cpu=options["cpus"] * 1000, gpu=gpu
    )
    warn(_write(draw(workload, seed), target, form))


def _write(chosen: Trace, target: str, form: str | None) -> Sequence[str]:
    """Write a trace; return warnings. Errors end the command."""
    from stromboli.traces.formats.writing import write_csv, write_swf
    from stromboli.traces.trace import TraceError

    form = form or ("csv" if target.removesuffix(".gz").endswith(".csv") else "swf")
    write: Callable[[Trace, TextIO], list[str]] = write_csv if form == "csv" else write_swf
    try:
        with written_target(target) as file:
            return write(chosen, file)
    except TraceError as error:
        raise Failure(error) from error
