"""Manifests as text, and what they are expanded to."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import msgspec

from stromboli import kube
from stromboli.kube.manifests.manifests import Manifests
from stromboli.workloads.reading import read_with_workloads
from stromboli.workloads.registry import WorkloadFamily
from stromboli.workloads.templates import Kind

NAMES = ("stromboli", "volcano")


def template(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A pod template for this scheduler."""
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"schedulerName": "volcano", "containers": [container], **spec}}


def workload(
    api_version: str, kind: str, spec: Mapping[str, Any], name: str = "train", **fields: Any
) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec), **fields}


def expanded(*documents: Mapping[str, Any], described: Mapping[Kind, WorkloadFamily] | None = None) -> Manifests:
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents}).decode()
    return read_with_workloads(["-"], io.StringIO(text), scheduler_names=NAMES, described=described)


def pods_of(manifests: Manifests) -> dict[str, kube.Pod]:
    return {each.metadata.name: each for each in manifests.objects if isinstance(each, kube.Pod)}


def groups_of(manifests: Manifests) -> dict[str, kube.PodGroup]:
    return {each.metadata.name: each for each in manifests.objects if isinstance(each, kube.PodGroup)}


def messages_of(manifests: Manifests) -> list[str]:
    """Return problems and notes without their places."""
    lines = [*map(str, manifests.problems), *manifests.notes]
    return [line.removeprefix("note: ").partition(": ")[2] for line in lines]
