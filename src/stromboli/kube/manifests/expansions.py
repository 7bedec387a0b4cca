"""Workloads in manifests, and the objects that controllers create for them.

This package reads documents; which pods a workload stands for is decided by the expander that the caller passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import KubeObject


class DescribedObject(NamedTuple):
    """An object that exists because of a workload, and the field that describes it."""

    document: Mapping[str, Any]
    field: str


class ExpandedDocument(NamedTuple):
    """What a workload stands for; an error, if it is invalid."""

    #: Its place among the documents that were passed.
    place: int
    objects: Sequence[DescribedObject] = ()
    #: What was assumed, or is left out.
    notes: Sequence[str] = ()
    error: ObjectError | None = None
    #: Whether it has pods, but how many of which template is unknown.
    is_unjudged: bool = False
    #: Why it has no pods at present, after its name; empty if it has.
    inactive: str = ""


class WorkloadExpander(Protocol):
    """Expands the workloads of manifests, when all of them have been read."""

    def is_read(self, document: Mapping[str, Any]) -> bool:
        """Report whether the document is a workload, or one that workloads refer to."""

    def expand(
        self, documents: Sequence[Mapping[str, Any]], objects: Sequence[KubeObject]
    ) -> Iterator[ExpandedDocument]:
        """Expand the documents; `objects` are those that were read."""
