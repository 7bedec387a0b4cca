"""Warnings about misspelt kinds, fields and annotations, each once for all objects that have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from stromboli.kube.fields.kind_names import describe_unknown, is_known
from stromboli.kube.fields.known_annotations import meant_annotation
from stromboli.kube.fields.known_fields import known_fields
from stromboli.kube.fields.unknown_fields import unknown_fields
from stromboli.kube.manifests.errors import printable
from stromboli.kube.manifests.origins import Origin, path_of
from stromboli.kube.objects.kinds import Unknown

#: Further warnings are only counted: a hostile file can contain millions.
MAX_WARNINGS = 100


class NameWarnings:
    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], str] = {}
        self._count: Counter[tuple[str, ...]] = Counter()
        self._skipped: Counter[str] = Counter()
        self._left_out = 0

    def check_kind(self, kind: Unknown, origin: Origin) -> None:
        """Record an object that is not read: a misspelt kind, or one that the scheduler does not use."""
        if is_known(kind.api_version, kind.kind):
            self._skipped[kind.kind] += 1
            return
        identity = (kind.api_version, kind.kind)
        if self._is_first(identity):
            place = origin.place(("kind",))
            self._first[identity] = f"{place}: {printable(describe_unknown(kind.api_version, kind.kind))}"

    def check_unjudged(self, kind: Unknown, subject: str, origin: Origin) -> None:
        """Record an object that has pods, but of a kind that is unknown: which pods is not known either."""
        identity = (kind.api_version, kind.kind)
        if not is_known(kind.api_version, kind.kind):
            self.check_kind(kind, origin)
        elif self._is_first(identity):
            message = f"{subject}: the pods of this kind (apiVersion {kind.api_version}) are not known"
            self._first[identity] = f"{origin.place(('kind',))}: {printable(message)}; describe it with --kinds"

    def check_template(self, document: Mapping[str, Any], field: str, kind: str, subject: str, origin: Origin) -> None:
        """Record unknown names in the template of objects of a built-in kind; the fields of a workload whose definition
        is known are checked with the whole object.
        """
        part: Any = document
        for step in path_of(field):
            is_there = (isinstance(part, dict) and step in part) or (isinstance(part, list) and isinstance(step, int))
            part = part[step] if is_there else None
        if not field or not isinstance(part, dict):
            return
        place = origin._replace(path=(*origin.path, *path_of(field)))
        spec = part.get("spec")
        is_template = isinstance(spec, dict) and (kind != "Pod" or "containers" in spec)
        if is_template and known_fields(str(document["apiVersion"]), str(document["kind"])) is None:
            self._check_fields({"spec": spec}, "v1", kind, subject, place)
        self.check_metadata(part.get("metadata"), subject, place)

    def check_names(self, document: Mapping[str, Any], kind: str, key: str, origin: Origin) -> None:
        """Record unknown fields, and annotations and labels that resemble known ones."""
        self._check_fields(document, str(document["apiVersion"]), kind, f"{kind} {key}", origin)
        self.check_metadata(document.get("metadata"), f"{kind} {key}", origin)

    def _check_fields(
        self, document: Mapping[str, Any], api_version: str, kind: str, subject: str, origin: Origin
    ) -> None:
        for field in unknown_fields(document, api_version, kind):
            identity = (kind, *(step for step in field.path if isinstance(step, str)))
            if self._is_first(identity):
                self._first[identity] = f"{origin.place(field.path)}: {printable(f'{subject}: {field}')}"

    def check_metadata(self, metadata: object, subject: str, origin: Origin) -> None:
        """Record annotations and labels that resemble known ones."""
        for part in ("annotations", "labels"):
            entries = metadata.get(part) if isinstance(metadata, dict) else None
            for key in entries if isinstance(entries, dict) else ():
                if (meant := meant_annotation(key)) is not None and self._is_first((part, key)):
                    message = f"{subject}: unknown {part[:-1]} {key}; did you mean {meant}?"
                    self._first[part, key] = f"{origin.place(('metadata', part, key))}: {printable(message)}"

    def _is_first(self, identity: tuple[str, ...]) -> bool:
        """Count a name. Report whether it is new and may be listed."""
        self._count[identity] += 1
        if identity in self._first:
            return False
        if len(self._first) < MAX_WARNINGS:
            return True
        self._left_out += 1
        return False

    def lines(self) -> list[str]:
        """Return the warnings, and one note about kinds that are not read."""
        lines = [f"{text}{_more(self._count[identity] - 1)}" for identity, text in self._first.items()]
        if self._left_out:
            lines.append(f"{self._left_out} more unknown names are not listed")
        if self._skipped:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self._skipped.items()))
            lines.append(printable(f"note: objects of kinds that the scheduler does not read were skipped: {kinds}"))
        return lines


def _more(count: int) -> str:
    return f" (also in {count} more {'object' if count == 1 else 'objects'})" if count else ""
