"""`stromboli topology`: the network domains with their free capacity and jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_source import ClusterSource
from stromboli.cli.options.live import LIVE_PARAMETERS, live_options
from stromboli.cli.options.settings import output_option, reject_options, shown_option
from stromboli.cli.options.shards import SHARD_PARAMETERS, shard_of, shard_options
from stromboli.cli.output import Failure, Printout
from stromboli.cli.plan_input import PlanInput, SchedulerChoice, read_input
from stromboli.cli.policies import read_registry
from stromboli.cli.scenario import IN_DUMP, PATHS

if TYPE_CHECKING:
    from stromboli.planner.topology_report import TopologyReport
    from stromboli.planner.virtual_cluster import PlannedCluster

_EPILOG = """\b
Examples:
  stromboli topology --context production
  stromboli topology -f examples/topology
  stromboli topology -f examples/topology -o wide
  stromboli topology -f examples/topology -o json \\
    | jq '.domains[] | select(.freeNodes >= 4) | .name'

\b
Exit codes:
  0  shown
  1  invalid input
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@PATHS
@click.option(
    "--topology", "name", metavar="NAME", default="",
    help="Show the domains of this Topology, from node labels, instead of those of HyperNodes.",
)  # fmt: skip
@live_options
@output_option()
@shard_options(shown_option)
def topology(paths: Sequence[str], name: str, output: str, **options: Any) -> None:
    """Show the network domains and their free capacity.

    HyperNodes, Topologies, nodes and pods are read from the cluster of the kubeconfig or, with nodes, from the files;
    waiting pods are not scheduled. Errors in HyperNodes and Topologies are reported on the standard error.
    """
    from stromboli.planner.topology_report import UnknownTopology, topology_of

    cluster, read = _read_cluster(paths, options)
    try:
        found = topology_of(cluster.snapshot(), cluster.pods(), name, is_sharded=read.scheduler.shard is not None)
    except UnknownTopology as error:
        raise Failure(error) from error
    _printout(found, [*read.warnings, *map(read.located, found.warnings)]).echo(output)


def _printout(found: TopologyReport, warnings: list[str]) -> Printout:
    from stromboli.cli.text.topology import echo_topology
    from stromboli.planner.topology_report import topology_as_plain

    prefix = f"topology.kai.scheduler/{found.name}" if found.name else "hypernode.topology.volcano.sh"
    return Printout(
        tables=lambda wide: echo_topology(found, wide=wide),
        data=lambda: {**topology_as_plain(found), "warnings": warnings},
        names=lambda: (f"{prefix}/{domain.name}" for domain in found.domains if domain.parent),
        warnings=warnings,
    )


def _read_cluster(paths: Sequence[str], options: Mapping[str, Any]) -> tuple[PlannedCluster, PlanInput]:
    """Read the objects into a cluster. Nothing is scheduled, so any configuration works."""
    from stromboli.cluster.dump.dump import DumpError, is_dump, read_dump
    from stromboli.core.config.configuration import default_configuration
    from stromboli.core.session.program import Program
    from stromboli.planner.virtual_cluster import PlannedCluster

    registry = read_registry(())
    program = Program(default_configuration(registry), registry)
    scheduler = SchedulerChoice(shard=shard_of(options))
    if len(paths) == 1 and is_dump(paths[0]):
        reject_options((*SHARD_PARAMETERS, *LIVE_PARAMETERS), IN_DUMP)
        try:
            dump = read_dump(paths[0])
        except DumpError as error:
            raise Failure(error) from error
        return PlannedCluster.of_contents(dump.contents, program, dump.now), PlanInput((), scheduler, [])
    read = read_input(paths, ClusterSource(options), scheduler, time.time(), schedules=False)
    choice = read.scheduler
    cluster = PlannedCluster(
        read.objects, program, scheduler_names=choice.scheduler_names, shard=choice.shard,
        default_queue=choice.default_queue, node_selector=choice.node_selector,
    )  # fmt: skip
    return cluster, read
