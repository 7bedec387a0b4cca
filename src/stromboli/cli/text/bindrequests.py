"""Bind requests in every output format."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import click
import msgspec

from stromboli.cli.output import Printout, echo_yaml, object_name, warn
from stromboli.cli.text.ages import short_duration
from stromboli.cli.text.changes import ChangedLines
from stromboli.cli.text.objects import list_of
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
_WIDE = ("SCHEDULER", "NODES")
_HEADER = ("NAMESPACE", "NAME", "POD GROUP", "BOUND", "PHASE", "ATTEMPTS", "AGE", *_WIDE)
_POD_WIDE = ("POD GROUP", "SCHEDULER")
_POD_HEADER = ("NAMESPACE", "REQUEST", "POD", "NODE", "PHASE", *_POD_WIDE)
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


def requests_printout(requests: Iterable[BindRequest], chosen: Chosen) -> Printout:
    """Return a line per request, or per pod, the oldest first; as data and names always the requests."""
    ordered = sorted(requests, key=lambda each: (each.metadata.creation_timestamp or "", each.key, each.spec.part))

    def tables(wide: bool) -> None:
        if ordered:
            echo_table(_table(ordered, chosen), wide=wide)
        else:
            click.echo("No bind requests.", err=True)

    return Printout(
        tables,
        data=lambda: list_of([document_of(request) for request in ordered]),
        names=lambda: [_name(request, chosen) for request in ordered],
    )


def _name(request: BindRequest, chosen: Chosen) -> str:
    """Return the name as in kubectl; with the namespace if all namespaces are listed."""
    kind, _, name = object_name(document_of(request)).partition("/")
    return f"{kind}/{name}" if chosen.namespace else f"{kind}/{request.metadata.namespace}/{name}"


def _table(requests: Iterable[BindRequest], chosen: Chosen, phase: str = "") -> Table:
    if chosen.shows_pods:
        table = Table(_POD_HEADER, colours=COLOURS, wide=_POD_WIDE, note_header="REASON")
        for request in requests:
            for member in request.spec.pods:
                if not chosen.node or member.selected_node == chosen.node:
                    _add_pod(table, request, member, phase)
        return table
    table = Table(
        _HEADER, colours=COLOURS, right=("BOUND", "ATTEMPTS", "AGE"), flexible=("NODES",), wide=_WIDE,
        note_header="REASON",
    )  # fmt: skip
    for request in requests:
        _add(table, request, phase)
    return table


def _add(table: Table, request: BindRequest, phase: str) -> None:
    metadata, spec, status = request.metadata, request.spec, request.status
    bound = sum(member.phase == BOUND for member in status.pods)
    part = f" (part {spec.part} of {spec.parts})" if spec.parts > 1 else ""
    age = short_duration(time.time() - seconds_of(metadata.creation_timestamp))
    table.add(
        metadata.namespace, metadata.name, f"{spec.pod_group}{part}", f"{bound}/{len(spec.pods)}",
        phase or phase_of(request), str(status.failed_attempts), age, spec.scheduler,
        ", ".join(dict.fromkeys(member.selected_node for member in spec.pods)), note=status.reason,
    )  # fmt: skip


def _add_pod(table: Table, request: BindRequest, member: BoundPod, phase: str) -> None:
    status = {each.pod_uid: each for each in request.status.pods}.get(member.pod_uid, MemberStatus())
    table.add(
        request.metadata.namespace, request.metadata.name, member.pod_name, member.selected_node,
        phase or status.phase or PENDING, request.spec.pod_group, request.spec.scheduler, note=status.reason,
    )  # fmt: skip


def document_of(request: BindRequest) -> dict[str, Any]:
    return {"apiVersion": BIND_REQUESTS.api_version, "kind": BIND_REQUESTS.kind, **msgspec.to_builtins(request)}


class BindRequestPrinter:
    """Prints every change of a selected request: a line of a table or of JSON, a document, or a name."""

    def __init__(self, chosen: Chosen, output: str) -> None:
        self._chosen = chosen
        self._output = output
        self._lines = ChangedLines(widest={"PHASE": max(map(len, COLOURS))})

    def apply(self, entry: BindRequest) -> None:
        if self._chosen.includes(entry):
            self._print(entry, "")

    def remove(self, entry: BindRequest) -> None:
        if self._chosen.includes(entry):
            self._print(entry, GONE)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        warn([f"BindRequest {key} cannot be decoded: {problem}"])

    def _print(self, request: BindRequest, phase: str) -> None:
        change = {"type": "DELETED" if phase else "CHANGED", "object": document_of(request)}
        if self._output == "json":
            click.echo(msgspec.json.encode(change).decode())
        elif self._output == "yaml":
            click.echo("---")
            echo_yaml(change)
        elif self._output == "name":
            click.echo(_name(request, self._chosen))
        else:
            table = _table([request], self._chosen, phase)
            self._lines.echo(table if self._output == "wide" else table.narrow())
