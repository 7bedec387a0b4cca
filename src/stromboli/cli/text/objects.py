"""Kubernetes objects in every output format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stromboli.cli.output import Printout, object_name
from stromboli.cli.text.tables import Table, echo_table

Document = Mapping[str, Any]


def objects_table(documents: Sequence[Document]) -> Table:
    """Return kind, namespace and name of objects of any kind."""
    table = Table(("KIND", "NAMESPACE", "NAME", "APIVERSION", "LABELS"), wide=("APIVERSION", "LABELS"))
    for document in documents:
        metadata = document["metadata"]
        labels = ",".join(f"{key}={value}" for key, value in (metadata.get("labels") or {}).items())
        where = metadata.get("namespace") or "-"
        table.add(document["kind"], where, metadata["name"], document["apiVersion"], labels or "-")
    return table


def objects_printout(
    documents: Sequence[Document], table: Callable[[Sequence[Document]], Table] = objects_table
) -> Printout:
    """Return objects for `kubectl apply`: a stream of documents in YAML, a List in JSON."""
    return Printout(
        tables=lambda wide: echo_table(table(documents), wide=wide),
        data=lambda: list_of(documents),
        names=lambda: map(object_name, documents),
        is_stream=True,
    )


def list_of(documents: Sequence[Document]) -> Document:
    return {"apiVersion": "v1", "kind": "List", "items": documents}
