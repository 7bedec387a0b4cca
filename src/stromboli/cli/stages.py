"""Manifests that are submitted in stages: each file at the arrival time of its objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from stromboli.kube.manifests.manifests import flattened, valid_document
from stromboli.kube.manifests.origins import Origin
from stromboli.kube.manifests.sources import load_sources
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
    for text, entries in load_sources(list(paths), stdin):
        documents = [
            valid_document(Origin(text, number, path), item)
            for number, entry in enumerate(entries)
            for path, item in flattened(entry)
        ]
        stages.append(ManifestStage(_arrival(documents, text.source), text.caption, documents))
    return sorted(stages, key=lambda stage: stage.at)


def _arrival(documents: Sequence[dict[str, Any]], source: str) -> float:
    """Return the earliest arrival of an object; objects without the annotation arrive with the others of their file."""
    from stromboli.core.model.values.times import parse_duration

    annotations = ((document.get("metadata") or {}).get("annotations") or {} for document in documents)
    times = [each[ARRIVES_AFTER] for each in annotations if ARRIVES_AFTER in each]
    try:
        return min(map(parse_duration, times), default=0.0)
    except ValueError as error:
        raise ValueError(f"{source}: metadata.annotations[{ARRIVES_AFTER}]: {error}") from None
