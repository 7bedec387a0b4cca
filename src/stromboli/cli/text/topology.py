"""The network domains as text: a tree on a terminal, indented text elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from stromboli.cli.text import tables
from stromboli.cli.text.plan import counted, format_amounts
from stromboli.cli.text.tables import Table, echo_table

if TYPE_CHECKING:
    from stromboli.planner.topology_report import DomainReport, TopologyReport

_MAX_JOBS = 3


def echo_topology(topology: TopologyReport, *, wide: bool = False) -> None:
    echo_table(_table(topology, wide=wide), wide=wide)
    click.echo()
    click.echo(_closing(topology))


def _table(topology: TopologyReport, *, wide: bool) -> Table:
    used = [f"{name.upper()} USED" for name in topology.resources]
    ours = ("SHARD NODES",) if topology.domains[0].our_nodes is not None else ()
    table = Table(
        ("DOMAIN", "TIER", "NODES", *ours, "FREE NODES", *used, "FREE", "JOBS", "OWN NODES"),
        flexible=("FREE", "JOBS", "OWN NODES"),
        wide=(*used, "OWN NODES"),
        right=("NODES", *ours, "FREE NODES", *used),
    )
    for stem, domain in zip(_branches(topology.domains), topology.domains, strict=True):
        label = domain.name if domain.parent else "cluster"
        of_all = [
            f"{domain.used.get(name, '0')}/{domain.capacity.get(name, '0')}" for name in topology.resources
        ]  # fmt: skip
        counts = (str(domain.nodes), *(str(domain.our_nodes) for _ in ours), str(domain.free_nodes))
        jobs = _jobs(domain.jobs, len(domain.jobs) if wide else _MAX_JOBS)
        last = (format_amounts(domain.free), jobs, ", ".join(domain.own_nodes) or "-")
        table.add(f"{stem}{label}", _tier(domain), *counts, *of_all, *last)
    return table


def _branches(domains: Sequence[DomainReport]) -> Iterator[str]:
    """Yield the tree prefix of every domain."""
    last = {domain.parent: domain.name for domain in domains}
    trunks: dict[str, str] = {}
    for domain in domains:
        beside = trunks.get(domain.parent, "")
        if not domain.parent:
            branch = trunk = ""
        elif not tables.on_terminal():
            branch = trunk = "  "
        else:
            branch, trunk = ("└─ ", "   ") if last[domain.parent] == domain.name else ("├─ ", "│  ")
        trunks[domain.name] = beside + trunk
        yield beside + branch


def _tier(domain: DomainReport) -> str:
    if not domain.parent:
        return "-"
    return f"{domain.tier} ({domain.tier_name})" if domain.tier_name else str(domain.tier)


def _jobs(jobs: Mapping[str, int], limit: int) -> str:
    """`default/train ×4, default/sweep ×2 and 3 more jobs`, the largest first."""
    listed = ", ".join(f"{key} ×{count}" for key, count in islice(jobs.items(), limit))
    left = len(jobs) - limit
    return (listed or "-") if left <= 0 else f"{listed} and {counted(left, 'more job')}"


def _closing(topology: TopologyReport) -> str:
    cluster = topology.domains[0]
    if len(topology.domains) == 1 and topology.name:
        return f"No node has all the labels of Topology {topology.name}."
    if len(topology.domains) == 1:
        return "There are no HyperNodes; stromboli hypernodes discover proposes some from node labels."
    outside = len(cluster.own_nodes)
    parts = [f"{counted(len(topology.domains) - 1, 'domain')} of {counted(cluster.nodes, 'node')}"]
    if outside:
        parts.append(f"{counted(outside, 'node')} {'is' if outside == 1 else 'are'} in none")
    return "; ".join(parts) + "."
