"""Pods from templates, with deterministic names.

A watch always lags behind: a controller that counts too few pods creates some again, and the server rejects names that
exist. The suffix of a name is a hash of the owner and a number, and the lowest numbers are used first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Any

from stromboli.kube.objects.meta import OwnerReference
from stromboli.kube.objects.resources import Resource, T

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_MAX_NAME_LENGTH = 63
_SUFFIX = 5


def free_names(prefix: str, uid: str, is_taken: Callable[[str], bool]) -> Iterator[str]:
    """Unused names with the prefix, always in the same order."""
    start = prefix[: _MAX_NAME_LENGTH - _SUFFIX - 1].rstrip("-.")
    for number in count():
        name = f"{start}-{_suffix(f'{uid}/{prefix}/{number}')}"
        if not is_taken(name):
            yield name


@lru_cache(maxsize=1 << 16)
def _suffix(seed: str) -> str:
    return letters(seed.encode(), _SUFFIX)


def letters(content: bytes, length: int) -> str:
    """A hash of the content as letters and digits, without vowels."""
    number = int.from_bytes(hashlib.blake2b(content, digest_size=16).digest())
    found = []
    for _ in range(length):
        number, place = divmod(number, len(_LETTERS))
        found.append(_LETTERS[place])
    return "".join(found)


def pod_document(
    template: Mapping[str, Any], name: str, prefix: str, owner: dict[str, Any], spec: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A pod from a template; `spec` has additional fields."""
    template_metadata = template.get("metadata") or {}
    metadata = {
        part: template_metadata[part] for part in ("labels", "annotations", "finalizers") if template_metadata.get(part)
    }
    metadata |= {"name": name, "generateName": f"{prefix}-", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {**(template.get("spec") or {}), **(spec or {})}}


def controller_reference(resource: Resource[T], owner: T) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(references: list[OwnerReference] | None) -> OwnerReference | None:
    return next((each for each in references or () if each.controller), None)
