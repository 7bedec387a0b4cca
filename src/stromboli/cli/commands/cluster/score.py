"""`stromboli score`: why a node is chosen for the pods of a job."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.cluster_scenario import job_view_options, objects_of, read_view
from stromboli.cli.completion import complete_jobs, complete_nodes
from stromboli.cli.job_names import named_job
from stromboli.cli.output import Failure
from stromboli.planner.job_names import JobNames

_EPILOG = """\b
Examples:
  stromboli score train
  stromboli score -n team-a train node-7
  stromboli score train -o json | jq '.classes[].candidates[0]'
  stromboli score -f examples/cluster train

\b
Exit codes:
  0  shown
  1  invalid input, a job without pods, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@click.argument("node", default="", metavar="[NODE]", shell_complete=complete_nodes)
@job_view_options
def score(name: str, node: str, output: str, **options: Any) -> None:
    """Show why a node is chosen: the points of every scorer.

    The best nodes for a pod of the job are shown side by side, with the points of every scorer that distinguishes them,
    and below them the nodes that a rule rejects. NODE is shown in any case. Pods that have a node already are scored as
    if they waited now, and all others stay.
    """
    from stromboli.cli.text.cluster.score import score_printout
    from stromboli.planner.overview.node_scores import node_scores, without_nodes

    scenario = read_view(options)
    cluster = scenario.open()
    key = named_job(JobNames.of_cluster(cluster), name, options["namespace"])
    if not cluster.session.jobs[key].pending_count:
        pods = frozenset(task.key for task in cluster.session.jobs[key].tasks.values())
        cluster = scenario.open(without_nodes(objects_of(scenario), pods))
    session = cluster.session
    if node and node not in session.nodes.index:
        raise Failure(f"no node {node}")
    if not (scores := node_scores(session, session.jobs[key])):
        raise Failure(f"job {key} has no pods to place")
    score_printout(key, scores, node, [*scenario.warnings, *map(scenario.located, session.warnings)]).echo(output)
