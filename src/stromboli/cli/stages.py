"""Manifests that are submitted in stages: each file at the arrival time of its objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from stromboli.kube.manifests.sources import read_sources
from stromboli.kube.manifests.yaml import load_documents
from stromboli.simulator.workload import ARRIVES_AFTER


@dataclass(frozen=True, slots=True)
class ManifestStage:
    #: Seconds from the start.
    at: float
    #: The first comment of the file.
    caption: str
    documents: Sequence[dict[str, Any]]


def read_stages(paths: Iterable[str], stdin: TextIO | None = None) -> list[ManifestStage]:
    """Return the stages by time. Raises ValueError for invalid manifests, ManifestError included."""
    stages = []
    for source, text in read_sources(list(paths), stdin):
        documents = [item for entry in load_documents(text, source) for item in items_of(entry, source)]
        stages.append(ManifestStage(_arrival(documents, source), _caption(text), documents))
    return sorted(stages, key=lambda stage: stage.at)


def items_of(entry: object, source: str) -> list[dict[str, Any]]:
    """Return the objects of a document, which may be a List. Raises ValueError for anything else."""
    if entry is None:
        return []
    if not isinstance(entry, dict):
        raise ValueError(f"{source}: a document is not an object; add apiVersion, kind and metadata")
    if entry.get("kind") != "List":
        return [entry]
    items = entry.get("items")
    if not isinstance(items, list):
        raise ValueError(f"{source}: List: items: expected a list of objects")
    return [item for inner in items for item in items_of(inner, source)]


def _arrival(documents: Sequence[dict[str, Any]], source: str) -> float:
    """Return the earliest arrival of an object; objects without the annotation arrive with the others of their file."""
    from stromboli.core.model.values.times import parse_duration

    annotations = ((document.get("metadata") or {}).get("annotations") or {} for document in documents)
    times = [each[ARRIVES_AFTER] for each in annotations if ARRIVES_AFTER in each]
    try:
        return min(map(parse_duration, times), default=0.0)
    except ValueError as error:
        raise ValueError(f"{source}: metadata.annotations[{ARRIVES_AFTER}]: {error}") from None


def _caption(text: str) -> str:
    first = text.partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
