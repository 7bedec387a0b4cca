"""Fields of a document that its kind does not have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec

from stromboli.kube.fields.built_in import LIST, MAP, OBJECT, Fields
from stromboli.kube.fields.known_fields import known_fields
from stromboli.kube.fields.nearest import MISSPELT, SIMILAR, nearest

Path = tuple[str | int, ...]


class UnknownField(NamedTuple):
    """A field, and the one that was probably meant."""

    path: Path
    meant: Path | None

    def __str__(self) -> str:
        meant = f"did you mean {written(self.meant)}?" if self.meant else "correct or remove it"
        return f"unknown field {written(self.path)}; {meant}"


def unknown_fields(document: Mapping[str, Any], api_version: str, kind: str) -> list[UnknownField]:
    """Return the unknown fields of a document.

    A status is written by controllers, which may be newer than the table: there, and in kinds that are not completely
    known, only fields that resemble an absent one are returned.
    """
    known = known_fields(api_version, kind)
    if known is None:
        return []
    fields, is_complete = known
    try:
        msgspec.convert(document, _checker(api_version, kind))
    except msgspec.ValidationError:
        pass  # an unknown field, or a value of another type, which the decoder reports
    else:
        return []
    found: list[tuple[Path, Fields, Mapping[str, Any]]] = []
    _collect(fields, document, (), found)
    unknown = [_judged(*entry, is_strict=is_complete and entry[0][0] != "status") for entry in found]
    return [each for each in unknown if each is not None]


@cache
def _checker(api_version: str, kind: str) -> Any:
    """Return a type that rejects unknown fields, which is faster than a search in documents without any."""
    known = known_fields(api_version, kind)
    return _struct(known.fields, {}) if known else Any


def _struct(fields: Fields, made: dict[int, Any]) -> Any:
    """Return the type of an object. A type that contains itself is not checked further."""
    if id(fields) not in made:
        made[id(fields)] = Any
        names = {f"field_{number}": name for number, name in enumerate(fields)}
        types = [(key, _type_of(*fields[name], made), None) for key, name in names.items()]
        made[id(fields)] = msgspec.defstruct("Checked", types, rename=names, forbid_unknown_fields=True, gc=False)
    return made[id(fields)]


def _type_of(form: str, below: Fields | None, made: dict[int, Any]) -> Any:
    if below is None:
        return Any
    inner = _struct(below, made)
    forms: dict[str, Any] = {OBJECT: inner, LIST: list[inner], MAP: dict[str, inner]}  # type: ignore[valid-type]
    return forms[form] | None


def _collect(
    fields: Fields, value: Mapping[str, Any], path: Path, found: list[tuple[Path, Fields, Mapping[str, Any]]]
) -> None:
    if not value.keys() <= fields.keys():
        found.extend(((*path, key), fields, value) for key in value if key not in fields)
    for key, part in value.items():
        if part and isinstance(part, dict | list) and key in fields:
            form, below = fields[key]
            if below is None:
                continue
            if form == OBJECT:
                if isinstance(part, dict):
                    _collect(below, part, (*path, key), found)
            else:
                for step, item in enumerate(part) if isinstance(part, list) else part.items():
                    if isinstance(item, dict):
                        _collect(below, item, (*path, key, step), found)


def _judged(path: Path, fields: Fields, value: Mapping[str, Any], *, is_strict: bool) -> UnknownField | None:
    absent = tuple(name for name in fields if name not in value)
    meant = _nearest(str(path[-1]), absent, SIMILAR if is_strict else MISSPELT)
    if meant is None:
        return UnknownField(path, None) if is_strict else None
    return UnknownField(path, (*path[:-1], meant))


#: Many objects have the same unknown field.
_nearest = lru_cache(maxsize=1024)(nearest)


def written(path: Path) -> str:
    """Return a path for messages: `spec.containers[0].image`, `metadata.annotations[example.com/a]`."""
    text = ""
    for step in path:
        is_plain = isinstance(step, str) and step.replace("_", "").isalnum()
        text += (f".{step}" if text else str(step)) if is_plain else f"[{step}]"
    return text
