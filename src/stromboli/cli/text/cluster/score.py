"""The scores of nodes in every output format."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stromboli.cli.output import Printout
from stromboli.cli.text.plan import counted, format_amounts
from stromboli.cli.text.tables import Table, echo_table, echo_wrapped
from stromboli.planner.overview.node_scores import ClassScores, NodeScore

#: Nodes side by side, and names of rejected nodes, without `-o wide`.
_MAX_NODES, _MAX_NAMES = 5, 4


def score_printout(job: str, scores: Sequence[ClassScores], node: str, warnings: Sequence[str]) -> Printout:
    """Return the scores of a job; `node` is shown in any case."""

    def tables(wide: bool) -> None:
        for number, each in enumerate(scores):
            if number:
                click.echo()
            _echo_class(each, node, wide=wide)

    return Printout(
        tables=tables,
        data=lambda: {"job": job, "classes": [each.as_plain() for each in scores], "warnings": list(warnings)},
        names=lambda: dict.fromkeys(f"node/{candidate.node}" for each in scores for candidate in each.candidates),
        warnings=warnings,
    )


def _echo_class(scores: ClassScores, node: str, *, wide: bool) -> None:
    others = len(scores.pods) - 1
    pods = f"{scores.pods[0]} and {counted(others, 'pod')} like it" if others else scores.pods[0]
    outcome = f"{scores.chosen} is the best node" if scores.chosen else "no node is feasible"
    echo_wrapped(f"{pods}, requesting {format_amounts(scores.request)}: {outcome}")
    if wide:
        echo_wrapped(f"Pods: {', '.join(scores.pods)}")
    if scores.in_domain:
        echo_wrapped("The job is placed within a network domain, which is chosen first.")
    shown = _shown(scores.candidates, node, len(scores.candidates) if wide else _MAX_NODES)
    if shown:
        echo_table(_candidates(scores, shown, wide=wide))
    if left := len(scores.candidates) - len(shown):
        click.echo(f"and {counted(left, 'more feasible node')}")
    _echo_rejections(scores, node, wide=wide)


def _shown(candidates: Sequence[NodeScore], node: str, limit: int) -> list[NodeScore]:
    return [each for place, each in enumerate(candidates) if place < limit or each.node == node]


def _candidates(scores: ClassScores, shown: Sequence[NodeScore], *, wide: bool) -> Table:
    nodes = [each.node for each in shown]
    table = Table(("SCORER", *nodes), right=nodes)
    for scorer in shown[0].points if wide else scores.scorers:
        table.add(scorer, *(f"{each.points[scorer]:.1f}" for each in shown))
    table.add("TOTAL", *(f"{each.total:.1f}" for each in shown))
    return table


def _echo_rejections(scores: ClassScores, node: str, *, wide: bool) -> None:
    if not scores.rejections:
        return
    table = Table(("REJECTED NODES", "REASON"), flexible=("REJECTED NODES", "REASON"))
    for each in scores.rejections:
        names = sorted(each.nodes, key=lambda name: (name != node, name))
        limit = len(names) if wide else _MAX_NAMES
        more = f" and {len(names) - limit} more" if len(names) > limit else ""
        table.add(f"{', '.join(names[:limit])}{more}", each.reason)
    echo_table(table)
