"""Names of objects that have only a prefix, `metadata.generateName`: the API server adds letters, manifests numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


class GeneratedNames:
    """Names the objects of one input. Objects with the same prefix are distinct, as if each was created."""

    def __init__(self) -> None:
        self._count: Counter[tuple[object, ...]] = Counter()

    def named(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the object with a name, if it has only a prefix."""
        metadata = document.get("metadata")
        if not isinstance(metadata, Mapping) or metadata.get("name"):
            return document
        prefix = metadata.get("generateName")
        if not isinstance(prefix, str) or not prefix.rstrip("-."):
            return document
        parts = (document.get("apiVersion"), document.get("kind"), metadata.get("namespace"), prefix)
        identity = tuple(map(str, parts))
        self._count[identity] += 1
        number = f"-{self._count[identity]}" if self._count[identity] > 1 else ""
        return {**document, "metadata": {**metadata, "name": f"{prefix.rstrip('-.')}{number}"}}
