"""Bind requests as tables and JSON."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
import msgspec

from stromboli.cli.output import echo_json, escape_controls, warn
from stromboli.cli.text.tables import Table, echo_table
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.kube.objects.bind_requests import BOUND, PENDING, BindRequest, BoundPod, MemberStatus
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.objects.resources import Resource

COLOURS = {
    "Succeeded": "green",
    "Binding": "cyan",
    "Unwinding": "yellow",
    "Failed": "red",
    "Pending": "",
    "Bound": "green",
}
_HEADER = ("NAMESPACE", "NAME", "POD GROUP", "BOUND", "PHASE", "ATTEMPTS", "AGE")
_POD_HEADER = ("NAMESPACE", "REQUEST", "POD", "NODE", "PHASE")
GONE = "Deleted"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The filter of bind requests, and whether their pods are shown."""

    namespace: str = ""
    selector: str = ""
    names: frozenset[str] = frozenset()
    pod_group: str = ""
    node: str = ""
    phases: frozenset[str] = frozenset()
    shows_pods: bool = False

    def includes(self, request: BindRequest) -> bool:
        return (
            (not self.names or request.metadata.name in self.names)
            and (not self.pod_group or request.spec.pod_group == self.pod_group)
            and (not self.node or any(member.selected_node == self.node for member in request.spec.pods))
            and (not self.phases or phase_of(request) in self.phases)
        )


def phase_of(request: BindRequest) -> str:
    """Return the phase; the default is Pending."""
    return request.status.phase or PENDING


def echo_requests(requests: Sequence[BindRequest], chosen: Chosen) -> None:
    """Print a line per request, or per pod, the oldest first."""
    if not requests:
        click.echo("No bind requests.", err=True)
        return
    ordered = sorted(requests, key=lambda each: (each.metadata.creation_timestamp or "", each.key, each.spec.part))
    echo_table(_table(ordered, chosen))


def _table(requests: Iterable[BindRequest], chosen: Chosen, phase: str = "") -> Table:
    if chosen.shows_pods:
        table = Table(_POD_HEADER, colours=COLOURS, note_header="REASON")
        for request in requests:
            for member in request.spec.pods:
                if not chosen.node or member.selected_node == chosen.node:
                    _add_pod(table, request, member, phase)
        return table
    table = Table(_HEADER, colours=COLOURS, right=("BOUND", "ATTEMPTS", "AGE"), note_header="REASON")
    for request in requests:
        _add(table, request, phase)
    return table


def _add(table: Table, request: BindRequest, phase: str) -> None:
    metadata, spec, status = request.metadata, request.spec, request.status
    bound = sum(member.phase == BOUND for member in status.pods)
    part = f" (part {spec.part} of {spec.parts})" if spec.parts > 1 else ""
    table.add(
        metadata.namespace, metadata.name, f"{spec.pod_group}{part}", f"{bound}/{len(spec.pods)}",
        phase or phase_of(request), str(status.failed_attempts), _age(request), note=status.reason,
    )  # fmt: skip


def _add_pod(table: Table, request: BindRequest, member: BoundPod, phase: str) -> None:
    status = {each.pod_uid: each for each in request.status.pods}.get(member.pod_uid, MemberStatus())
    table.add(
        request.metadata.namespace, request.metadata.name, member.pod_name, member.selected_node,
        phase or status.phase or PENDING, note=status.reason,
    )  # fmt: skip


def _age(request: BindRequest) -> str:
    """Return the age in its largest unit, as in kubectl."""
    seconds = max(int(time.time() - seconds_of(request.metadata.creation_timestamp)), 0)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def document_of(request: BindRequest) -> dict[str, Any]:
    return {"apiVersion": BIND_REQUESTS.api_version, "kind": BIND_REQUESTS.kind, **msgspec.to_builtins(request)}


def echo_objects(requests: Sequence[BindRequest], chosen: Chosen) -> None:
    echo_json({"apiVersion": "v1", "kind": "List", "items": [document_of(request) for request in requests]})


class BindRequestPrinter:
    """Prints every change of a selected request, as a table line or as JSON."""

    def __init__(self, chosen: Chosen, *, as_json: bool) -> None:
        self._chosen = chosen
        self._as_json = as_json
        #: The column widths so far; the phase column fits every phase from the start.
        self._widths: list[int] = []

    def apply(self, entry: BindRequest) -> None:
        if self._chosen.includes(entry):
            self._print(entry, "")

    def remove(self, entry: BindRequest) -> None:
        if self._chosen.includes(entry):
            self._print(entry, GONE)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        warn([f"BindRequest {key} cannot be decoded: {problem}"])

    def _print(self, request: BindRequest, phase: str) -> None:
        if self._as_json:
            kind = "DELETED" if phase else "CHANGED"
            click.echo(msgspec.json.encode({"type": kind, "object": document_of(request)}).decode())
            return
        table = _table([request], self._chosen, phase)
        lines = [[*row, note] for row, note in zip(table.rows, table.notes, strict=True)]
        if not self._widths:
            lines.insert(0, [*table.header, table.note_header])
            self._widths = [max(map(len, COLOURS)) if title == "PHASE" else 0 for title in lines[0]]
        self._widths = [
            max(old, *map(len, column)) for old, column in zip(self._widths, zip(*lines, strict=True), strict=True)
        ]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, self._widths, strict=True)]
            click.echo(escape_controls("  ".join(cells).rstrip()))
