"""Objects that are about to be submitted, as parts of a question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from stromboli.cli.output import Failure
from stromboli.kube import KubeObject
from stromboli.kube.objects.catalogue import (
    CLAIMS,
    EARLY_NATIVE_POD_GROUPS,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
)
from stromboli.kube.objects.resources import Resource

#: What people submit in their namespace; everything else belongs to administrators.
_SUBMITTED: dict[type[Any], Resource[Any]] = {
    each.type: each
    for each in (
        EARLY_NATIVE_POD_GROUPS, NATIVE_POD_GROUPS, POD_GROUPS, PODS, CLAIMS, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES
    )
}  # fmt: skip


def documents_of(objects: Sequence[KubeObject]) -> list[dict[str, Any]]:
    """Return the objects as documents. Those of other kinds end the command."""
    for entry in objects:
        if type(entry) not in _SUBMITTED:
            raise Failure(
                f"{type(entry).kind_name} {entry.key} cannot be part of a question to the scheduler, which answers "
                "about the jobs of a namespace; leave it out"
            )
    return [_document(entry) for entry in objects]


def _document(entry: KubeObject) -> dict[str, Any]:
    resource = _SUBMITTED[type(entry)]
    return {"apiVersion": resource.api_version, "kind": resource.kind, **msgspec.to_builtins(entry)}


def check_submitted(objects: Sequence[KubeObject], namespace: str) -> None:
    """Check that a question contains jobs of its namespace only. Others end the command."""
    for entry in objects:
        if type(entry) not in _SUBMITTED:
            kinds = ", ".join(sorted({each.kind for each in _SUBMITTED.values()}))
            raise Failure(f"{type(entry).kind_name} {entry.key} cannot be part of a question; these can: {kinds}")
        if entry.metadata.namespace != namespace:
            raise Failure(f"{type(entry).kind_name} {entry.key} is not in namespace {namespace}, that of the question")


def check_readable(objects: Sequence[KubeObject], namespaces: Collection[str]) -> None:
    """Check that objects are jobs of these namespaces only. Others end the command."""
    for entry in objects:
        check_submitted([entry], entry.metadata.namespace)
        if entry.metadata.namespace not in namespaces:
            raise Failure(f"{type(entry).kind_name} {entry.key} is in a namespace whose jobs you may not read")
