"""`stromboli topology`: the network domains with their free capacity and jobs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import output_option, reject_options, shown_option
from stromboli.cli.options.shards import SHARD_PARAMETERS, shard_of, shard_options
from stromboli.cli.output import Failure, Printout
from stromboli.cli.scenario import IN_DUMP, PATHS, read_registry

if TYPE_CHECKING:
    from stromboli.core.model.nodes.shards import ShardChoice
    from stromboli.kube.manifests.manifests import Manifests
    from stromboli.planner.topology_report import TopologyReport
    from stromboli.planner.virtual_cluster import PlannedCluster

_EPILOG = """\b
Examples:
  stromboli topology -f examples/topology
  stromboli topology -f examples/topology -o wide
  stromboli topology -f examples/topology -o json \\
    | jq '.domains[] | select(.freeNodes >= 4) | .name'
  kubectl get nodes,pods,podgroups.scheduling.volcano.sh,hypernodes \\
    -A -o yaml | stromboli topology -f -

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
@output_option()
@shard_options(shown_option)
def topology(paths: Sequence[str], name: str, output: str, **options: Any) -> None:
    """Show the network domains and their free capacity.

    HyperNodes, Topologies, nodes and pods are read from the files; waiting pods are not scheduled. Errors in HyperNodes
    and Topologies are reported on the standard error.
    """
    from stromboli.planner.topology_report import UnknownTopology, topology_of

    shard = shard_of(options)
    cluster, manifests = _read_cluster(paths, shard)
    try:
        found = topology_of(cluster.snapshot(), cluster.pods(), name, is_sharded=shard is not None)
    except UnknownTopology as error:
        raise Failure(error) from error
    _printout(found, [*manifests.warnings, *map(manifests.origins.located, found.warnings)]).echo(output)


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


def _read_cluster(paths: Sequence[str], shard: ShardChoice | None) -> tuple[PlannedCluster, Manifests]:
    """Read the paths into a cluster. Nothing is scheduled, so any configuration works."""
    from stromboli.cluster.dump.dump import DumpError, is_dump, read_dump
    from stromboli.cluster.state.cluster import SCHEDULER_NAMES
    from stromboli.core.config.configuration import default_configuration
    from stromboli.core.session.program import Program
    from stromboli.kube.manifests.manifests import ManifestError, Manifests
    from stromboli.planner.virtual_cluster import PlannedCluster
    from stromboli.workloads.reading import read_with_workloads

    registry = read_registry(())
    program = Program(default_configuration(registry), registry)
    try:
        if len(paths) == 1 and is_dump(paths[0]):
            reject_options(SHARD_PARAMETERS, IN_DUMP)
            dump = read_dump(paths[0])
            return PlannedCluster.of_contents(dump.contents, program, dump.now), Manifests()
        manifests = read_with_workloads(paths, sys.stdin, scheduler_names=SCHEDULER_NAMES)
    except (DumpError, ManifestError) as error:
        raise Failure(error) from error
    return PlannedCluster(manifests.objects, program, shard=shard), manifests
