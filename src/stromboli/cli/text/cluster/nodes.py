"""Nodes in every output format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stromboli.cli.output import Printout
from stromboli.cli.text.changes import ChangedRows, RowFormat
from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.resources.resources import short_name
from stromboli.planner.overview.node_list import NodeAmount, NodeListEntry

#: Every kubelet offers them, and few pods request them.
_MINOR = ("ephemeral-storage", "hugepages-")
_COLOURS = {"Ready": "green", "NotReady": "red"}


def nodes_table(nodes: Sequence[NodeListEntry]) -> Table:
    """Return free and allocatable amounts; the used ones, and minor resources, are in columns of `-o wide`."""
    resources = list(dict.fromkeys(each.resource for node in nodes for each in node.amounts))
    free = [f"FREE {short_name(name).upper()}" for name in resources]
    used = [f"USED {short_name(name).upper()}" for name in resources]
    minor = [column for column, name in zip(free, resources, strict=True) if name.startswith(_MINOR)]
    table = Table(
        ("NODE", "STATUS", *free, *used, "PODS"), wide=(*used, *minor), right=(*free, *used, "PODS"), colours=_COLOURS,
        note_header="WHY NOT USED",
    )  # fmt: skip
    for node in nodes:
        amounts = {each.resource: each for each in node.amounts}
        found = [amounts[name] for name in resources]
        table.add(
            node.name, node.status, *map(_free, found),
            *(each.used for each in found), str(node.pods), note=node.summary,
        )  # fmt: skip
    return table


def _free(amount: NodeAmount) -> str:
    return f"{amount.free}/{amount.allocatable}" if amount.allocatable != "0" else "-"


def nodes_printout(nodes: Sequence[NodeListEntry], warnings: Sequence[str]) -> Printout:
    return Printout(
        tables=lambda wide: echo_table(nodes_table(nodes), wide=wide),
        data=lambda: {"nodes": [node.as_plain() for node in nodes], "warnings": list(warnings)},
        names=lambda: (f"node/{node.name}" for node in nodes),
        warnings=warnings,
    )


def node_changes(output: str) -> ChangedRows[NodeListEntry]:
    """Print the nodes that change."""
    form = RowFormat[NodeListEntry](
        key=lambda node: node.name,
        table=lambda node: nodes_table([node]),
        plain=lambda node: node.as_plain(),
        name=lambda node: f"node/{node.name}",
        deleted=lambda node: replace(node, status="Deleted", obstacles=(), refusals={}),
        widest={"STATUS": len("Ready,SchedulingDisabled")},
    )
    return ChangedRows(form, output)
