"""Where objects were read: file and line, for messages about them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from stromboli.kube.manifests.lines import ManifestText, Path

#: `Pod team/a: spec.containers[0].image: ...`; the field may be missing.
_SUBJECT = re.compile(r"(?P<kind>[A-Z]\w*) (?P<key>[^\s:]+): (?:(?P<field>[a-z]\w*(?:[.\[][^\s:]*)?): )?")
_STEP = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[\]]+)")


class Origin(NamedTuple):
    """A document, or an item of its lists."""

    text: ManifestText
    document: int
    path: Path = ()

    def place(self, path: Path = ()) -> str:
        """Return the file and the line of a field."""
        return f"{self.text.source}:{self.text.line(self.document, (*self.path, *path))}"


@dataclass(slots=True)
class Origins:
    """The origins of objects by kind and key."""

    _found: dict[tuple[str, str], Origin] = field(default_factory=dict)

    def add(self, kind: str, key: str, origin: Origin) -> None:
        self._found[kind, key] = origin

    def located(self, message: str) -> str:
        """Return a message about an object with the file and the line of the object or field it is about."""
        subject = _SUBJECT.match(message)
        origin = self._found.get((subject["kind"], subject["key"])) if subject else None
        if subject is None or origin is None:
            return message
        return f"{origin.place(path_of(subject['field'] or ''))}: {message}"


@lru_cache(maxsize=4096)
def path_of(text: str) -> Path:
    """Return the steps of a written path: `spec.containers[0].image`, `metadata.annotations[example.com/a]`."""
    return tuple(int(index) if index else key or name for index, key, name in _STEP.findall(text))
