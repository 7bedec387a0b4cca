"""Manifests that are submitted in stages: each file at the arrival time of its objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from stromboli.kube.manifests.documents import flattened, valid_document
from stromboli.kube.manifests.origins import Origin
from stromboli.kube.manifests.sources import ManifestError, load_sources
from stromboli.kube.objects.timestamps import ARRIVES_AFTER


@dataclass(frozen=True, slots=True)
class ManifestStage:
    #: Seconds from the start.
    at: float
    #: The first comment of the file.
    caption: str
    documents: Sequence[dict[str, Any]]


def read_stages(paths: Iterable[str], stdin: TextIO | None = None) -> list[ManifestStage]:
    """Return the stages by time. Raises ManifestError for invalid manifests."""
    stages = []
    for text, entries in load_sources(list(paths), stdin):
        found = [
            (Origin(text, number, path), item)
            for number, entry in enumerate(entries)
            for path, item in flattened(entry)
        ]
        documents = [valid_document(origin, item) for origin, item in found]
        arrivals = (_arrival(document, origin) for (origin, _), document in zip(found, documents, strict=True))
        at = min((arrival for arrival in arrivals if arrival is not None), default=0.0)
        stages.append(ManifestStage(at, text.caption, documents))
    return sorted(stages, key=lambda stage: stage.at)


def _arrival(document: Mapping[str, Any], origin: Origin) -> float | None:
    """Return the arrival of an object; without the annotation, it arrives with the others of its file."""
    from stromboli.core.model.values.times import parse_duration

    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping) or ARRIVES_AFTER not in annotations:
        return None
    try:
        return parse_duration(str(annotations[ARRIVES_AFTER]))
    except ValueError as error:
        place = origin.place(("metadata", "annotations", ARRIVES_AFTER))
        raise ManifestError(f"{place}: metadata.annotations[{ARRIVES_AFTER}]: {error}") from None
