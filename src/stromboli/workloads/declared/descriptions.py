"""Descriptions of kinds: YAML files with the fields of templates, replicas, minimum and queue, as KAI's Karta has them.

A description is checked when it is read; messages name file, line and field.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TextIO

import msgspec

from stromboli.kube.fields.nearest import nearest
from stromboli.kube.manifests.errors import ObjectError, object_error, path_problem, printable
from stromboli.kube.manifests.origins import Origin, path_of
from stromboli.kube.manifests.sources import ManifestError, load_sources
from stromboli.kube.objects.kinds import KINDS
from stromboli.workloads.templates import Kind

#: Stands for every entry of a list or map.
EVERY = "[*]"
_STEP = r"[A-Za-z_][\w-]*"
_PATH = re.compile(rf"{_STEP}(?:\.{_STEP}|\[\d+\]|\[\*\]|\[[^\[\]*]+\])*")
_PATH_REMEDY = "write a field such as spec.replicas or spec.workers[*].template"


class DescribedRole(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Pods of one template. With `[*]` in its template it stands for one role per entry of a list or map."""

    template: str
    #: A name, or with `[*]` the field of the name of each entry.
    name: str = ""
    replicas: str | int = 1
    min_replicas: str | int | None = None


class KindDescription(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A kind, its roles, and where its group has its fields from."""

    api_version: str
    kind: str
    roles: list[DescribedRole]
    #: One PodGroup for all pods of an object, or groups by owner as for plain pods.
    group: Literal["gang", "owner"] = "gang"
    min_member: str | int | None = None
    queue: str = ""
    priority_class_name: str = ""
    suspend: str = ""
    #: The scheduler of pods whose template names none.
    scheduler_name: str = ""

    @property
    def identity(self) -> Kind:
        return self.api_version.rpartition("/")[0], self.kind


def read_descriptions(paths: Sequence[str], stdin: TextIO | None = None) -> dict[Kind, KindDescription]:
    """Read files with descriptions, one document per kind. Raises ManifestError that names file, line and field."""
    found: dict[Kind, KindDescription] = {}
    for path in filter(os.path.isdir, paths):
        raise ManifestError(path_problem(path, IsADirectoryError(errno.EISDIR, "is a directory")))
    for text, documents in load_sources(paths, stdin):
        for number, document in enumerate(documents):
            if document is None:
                continue
            origin = Origin(text, number)
            try:
                description = _description(document)
                if description.identity in found:
                    raise _error(description.kind, "kind", "is described already", "remove one of the descriptions")
            except ObjectError as error:
                raise ManifestError(f"{origin.place(path_of(error.field))}: {error}") from None
            found[description.identity] = description
    return found


def _description(document: object) -> KindDescription:
    if not isinstance(document, Mapping):
        raise _error("", "", "expected the description of a kind", "write a map with apiVersion, kind and roles")
    kind = document.get("kind")
    subject = kind if isinstance(kind, str) else ""
    _check_names(document, subject)
    try:
        description = msgspec.convert(document, KindDescription)
    except msgspec.ValidationError as error:
        raise object_error("kind", subject, document, error) from None
    for field, message, remedy in _faults(description):
        raise _error(description.kind, field, message, remedy)
    return description


def _check_names(document: Mapping[str, Any], subject: str) -> None:
    """Reject unknown fields with the one that was probably meant, and report missing ones with a remedy."""
    roles = document.get("roles")
    parts: list[tuple[str, Any, type[msgspec.Struct]]] = [("", document, KindDescription)]
    parts += [
        (f"roles[{place}]", role, DescribedRole) for place, role in enumerate(roles if isinstance(roles, list) else ())
    ]
    for path, part, struct in parts:
        if not isinstance(part, Mapping):
            continue
        fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
        for key in part:
            if key not in fields:
                meant = nearest(str(key), fields)
                remedy = f"did you mean {meant}?" if meant else f"write one of {', '.join(fields)}"
                raise _error(subject, _below(path, str(key)), "unknown field", remedy)
        for name, field in fields.items():
            if field.required and part.get(name) is None:
                raise _error(subject, _below(path, name), "is missing", _REMEDIES[name])


_REMEDIES = {
    "apiVersion": "write one, for example apiVersion: example.com/v1",
    "kind": "write the kind of the objects",
    "roles": "write at least one role with a template",
    "template": _PATH_REMEDY,
}


def _faults(description: KindDescription) -> Iterator[tuple[str, str, str]]:
    """Yield field, message and remedy of everything that no object could satisfy."""
    if description.identity in KINDS:
        yield "kind", f"{description.kind} is read as it is", "describe kinds that create pods"
    if not description.roles:
        yield "roles", "is empty", _REMEDIES["roles"]
    paths = {
        "minMember": description.min_member,
        "queue": description.queue,
        "priorityClassName": description.priority_class_name,
        "suspend": description.suspend,
    }
    for place, role in enumerate(description.roles):
        own = {"template": role.template, "replicas": role.replicas, "minReplicas": role.min_replicas}
        paths |= {f"roles[{place}].{name}": value for name, value in own.items()}
        yield from _wildcards(role, f"roles[{place}]")
    for field, value in paths.items():
        if isinstance(value, str) and value and not _PATH.fullmatch(value):
            yield field, f"{printable(value)!r} is not a field", _PATH_REMEDY
        elif isinstance(value, int) and value < 0:
            yield field, f"must not be negative, got {value}", "write 0 or more"
        elif not field.startswith("roles") and isinstance(value, str) and EVERY in value:
            yield field, f"{value!r} stands for several fields", "write one field, without [*]"


def _wildcards(role: DescribedRole, path: str) -> Iterator[tuple[str, str, str]]:
    if role.template.count(EVERY) > 1:
        yield f"{path}.template", "has more than one [*]", "describe one role per inner list"
    if EVERY not in role.template and not role.name:
        yield f"{path}.name", "is missing", "write the name of the role, such as worker"
    entry = role.template.partition(EVERY)[0]
    for name, value in (("name", role.name), ("replicas", role.replicas), ("minReplicas", role.min_replicas)):
        if (
            isinstance(value, str)
            and EVERY in value
            and not (EVERY in role.template and value.startswith(f"{entry}{EVERY}") and value.count(EVERY) == 1)
        ):
            yield f"{path}.{name}", "its [*] is not that of the template", f"write a field below {entry}{EVERY}"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _error(kind: str, field: str, message: str, remedy: str) -> ObjectError:
    return ObjectError("kind", kind, field, message, remedy)
