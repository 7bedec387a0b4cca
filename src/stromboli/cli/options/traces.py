"""Options of commands that read a trace, and of clusters that are described by numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import option_group
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.lab.comparison.experiment import TraceFiles
    from stromboli.traces.trace import Trace, TraceNode

_CPUS_PER_GPU = 8
_FORMATS = ("swf", "openb", "columns", "sacct", "history", "dump")

trace_format_options = option_group(
    click.option(
        "--trace-format", type=click.Choice(_FORMATS),
        help="The format of the trace. Default: by the name and the first line of the file.",
    ),
    click.option("--trace-nodes", metavar="FILE", default="", help="The nodes of an openb trace, as a table."),
    click.option(
        "--columns", "mapping", metavar="NAME|FILE", default="",
        help="Which columns of a table are which properties: stromboli, pai-2020, philly, helios, or a file.",
    ),
)  # fmt: skip

node_options = option_group(
    click.option("--nodes", "node_count", type=click.IntRange(1), metavar="N", help="The number of equal nodes."),
    click.option(
        "--cpus-per-node", type=click.IntRange(1), metavar="N", help="Their processors. Default: 1; with GPUs 8 each."
    ),
    click.option("--gpus-per-node", type=click.IntRange(0), metavar="N", default=0, help="Their GPUs. Default: 0."),
)


def equal_nodes_of(options: dict[str, Any]) -> list[TraceNode]:
    """Return the nodes that the options describe by numbers, which are removed from them; none without --nodes."""
    from stromboli.traces.generators.poisson import equal_nodes

    count, cpus, gpus = (options.pop(name) for name in ("node_count", "cpus_per_node", "gpus_per_node"))
    if count is None:
        if cpus or gpus:
            raise click.UsageError("--cpus-per-node and --gpus-per-node need --nodes.")
        return []
    return equal_nodes(count, cpus or max(_CPUS_PER_GPU * gpus, 1), gpus)


def trace_files_of(path: str, options: dict[str, Any]) -> TraceFiles:
    """Return the files of a trace by the options of a command, which are removed from them."""
    from stromboli.lab.comparison.experiment import TraceFiles

    form, nodes, mapping = (options.pop(name) for name in ("trace_format", "trace_nodes", "mapping"))
    return TraceFiles(path, form or "", nodes, mapping, Path(path).name)


def trace_of(path: str, options: dict[str, Any]) -> Trace:
    """Open a trace by the options of a command, which are removed from them. Errors end the command."""
    from stromboli.traces.opening import open_trace
    from stromboli.traces.trace import TraceError

    form, nodes, mapping = (options.pop(name) for name in ("trace_format", "trace_nodes", "mapping"))
    try:
        return open_trace(path, form or "", nodes=nodes, mapping=mapping)
    except TraceError as error:
        raise Failure(error) from error
