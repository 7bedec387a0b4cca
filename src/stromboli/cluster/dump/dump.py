"""Dumps: everything that a cycle depends on, in one file, so that its decisions can be reproduced elsewhere.

A dump is compressed JSON with a header. It contains the decoded fields of objects only, without environment variables,
commands and volume contents; values that look like credentials are removed as well. A dump is written to a temporary
file and renamed, so that no reader sees an incomplete one.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from stromboli import __version__
from stromboli.cluster.dump.contents import Contents
from stromboli.cluster.ingest.kinds import KINDS
from stromboli.core.model.jobs.carryover import PastEviction, Reservation
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.nodes.usage import Usage
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.redaction import redact
from stromboli.kube.manifests.errors import path_problem
from stromboli.kube.objects.meta import TopLevel

FORMAT = "stromboli-dump"
VERSION = 1
#: Maximum size of an unpacked dump: a cluster of a million pods fits, a decompression bomb does not.
LARGEST = 2 << 30

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TYPES: dict[str, type[TopLevel]] = {kind.resource.name: kind.resource.type for kind in KINDS}
_NAMES = {kind: name for name, kind in _TYPES.items()}
#: Low, because the scheduler writes dumps while it runs.
_COMPRESSION = 1
#: Bytes that are unpacked at a time.
_PART = 1 << 20
_MAGIC = b"\x1f\x8b"


class DumpError(ValueError):
    """A dump that cannot be written or read; the message names the file and the cause."""


@dataclass(frozen=True, slots=True)
class Dump:
    """The contents of a cluster before a cycle, the other inputs of the cycle, and its decisions, if known."""

    contents: Contents
    #: Time of the cycle, seconds since the epoch.
    now: float = 0.0
    #: Text of the configuration file.
    configuration: str = ""
    #: Command-line options of the process, for information.
    options: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, Any] | None = None
    made_by: str = __version__


class _Head(msgspec.Struct):
    format: str = ""
    version: int = 0


class _Reservation(msgspec.Struct):
    """`end` is null for a reservation without an end, `start` for one without a known start."""

    start: float | None
    end: float | None
    places: list[tuple[str, str]]


class _File(msgspec.Struct, rename="camel"):
    """The file format; the header and the small parts come before the large one."""

    format: str
    version: int
    made_by: str
    now: float
    seed: int
    scheduler_names: list[str]
    configuration: str
    options: dict[str, Any]
    decisions: dict[str, Any] | None
    placements: list[Placement]
    leaving: list[str]
    backing_off: list[str]
    phases: dict[str, str]
    resources: list[str]
    default_queue: str
    node_selector: dict[str, list[str]]
    objects: dict[str, Any]
    avoided: dict[str, list[str]] = msgspec.field(default_factory=dict)
    nominated: dict[str, str] = msgspec.field(default_factory=dict)
    eviction_history: list[PastEviction] = msgspec.field(default_factory=list)
    usage: dict[str, Usage] = msgspec.field(default_factory=dict)
    reservations: dict[str, _Reservation] = msgspec.field(default_factory=dict)
    set_aside: dict[str, str] = msgspec.field(default_factory=dict)
    overcommitted: dict[str, float] = msgspec.field(default_factory=dict)
    shard: ShardChoice | None = None
    granted: list[str] | None = None


# -- writing ----------------------------------------------------------------------------------------------------------


def write_dump(path: str | Path, dump: Dump) -> None:
    """Write a dump that only its owner may read. Objects are never edited, so a thread may do this while the scheduler
    continues. Raises DumpError.
    """
    place = Path(path)
    packed = gzip.compress(msgspec.json.encode(_file_of(dump)), _COMPRESSION, mtime=0)
    try:
        _write(place, packed)
    except OSError as error:
        raise DumpError(path_problem(str(place), error)) from error


def _write(place: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _file_of(dump: Dump) -> _File:
    contents = dump.contents
    objects: dict[str, list[TopLevel]] = {}
    for entry in contents.objects:
        objects.setdefault(_NAMES[type(entry)], []).append(_presentable(entry))
    return _File(
        format=FORMAT,
        version=VERSION,
        made_by=dump.made_by,
        now=dump.now,
        seed=contents.seed,
        scheduler_names=list(contents.scheduler_names),
        configuration=redact(dump.configuration),
        options=dict(dump.options),
        decisions=None if dump.decisions is None else dict(dump.decisions),
        placements=list(contents.placements),
        leaving=list(contents.leaving),
        backing_off=list(contents.backing_off),
        avoided={uid: list(nodes) for uid, nodes in contents.avoided.items()},
        nominated=dict(contents.nominated),
        eviction_history=list(contents.eviction_history),
        phases=dict(contents.phases),
        resources=list(contents.resources),
        default_queue=contents.default_queue,
        node_selector={label: list(values) for label, values in contents.node_selector.items()},
        objects=objects,
        usage=dict(contents.usage),
        reservations={
            key: _Reservation(_finite(each.start), _finite(each.end), list(each.places))
            for key, each in contents.reservations.items()
        },
        set_aside=dict(contents.set_aside),
        overcommitted=dict(contents.overcommitted),
        shard=contents.shard,
        granted=None if contents.granted is None else list(contents.granted),
    )


def _finite(moment: float) -> float | None:
    """A time as JSON, which has no infinity."""
    return None if moment == inf else moment


def _or_inf(moment: float | None) -> float:
    return inf if moment is None else moment


def _presentable(entry: TopLevel) -> TopLevel:
    """The object without the copy of the manifest that kubectl stores in an annotation."""
    annotations = entry.metadata.annotations
    if not annotations or _LAST_APPLIED not in annotations:
        return entry
    kept = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    return msgspec.structs.replace(entry, metadata=msgspec.structs.replace(entry.metadata, annotations=kept))


# -- reading ----------------------------------------------------------------------------------------------------------


def is_dump(path: str | Path) -> bool:
    """Report whether a file has the magic number of a dump. A pipe has none: what is read from it is gone."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_dump(path: str | Path, *, largest: int = LARGEST) -> Dump:
    """Read a dump. Raises DumpError if the file is not a dump, is truncated, or has another version."""
    text = _unpacked(Path(path), largest)
    try:
        head = msgspec.json.decode(text, type=_Head)
        if head.format != FORMAT:
            raise DumpError(f"{path}: is not a dump: its format is {head.format[:80]!r}, not {FORMAT!r}")
        if head.version != VERSION:
            raise DumpError(f"{path}: has dump version {head.version}; this program reads version {VERSION}")
        file = msgspec.json.decode(text, type=_Readable)
        objects = [entry for name, raw in file.objects.items() for entry in _entries(path, name, raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DumpError(f"{path}: is not a dump: {error}") from None
    contents = Contents(
        objects=objects,
        placements=file.placements,
        leaving=file.leaving,
        backing_off=file.backing_off,
        avoided=file.avoided,
        nominated=file.nominated,
        eviction_history=file.eviction_history,
        phases=file.phases,
        reservations={
            key: Reservation(key, _or_inf(each.start), _or_inf(each.end), tuple(each.places))
            for key, each in file.reservations.items()
        },
        set_aside=file.set_aside,
        overcommitted=file.overcommitted,
        scheduler_names=file.scheduler_names,
        seed=file.seed,
        resources=file.resources,
        default_queue=file.default_queue,
        node_selector=file.node_selector,
        usage=file.usage,
        shard=file.shard,
        granted=file.granted,
    )
    return Dump(contents, file.now, file.configuration, file.options, file.decisions, file.made_by)


class _Readable(_File):
    """The same file, with its objects not decoded yet."""

    objects: dict[str, msgspec.Raw]


def _unpacked(path: Path, largest: int) -> bytes:
    """Unpack in parts: one read of the largest size would reserve memory for it."""
    content, size = BytesIO(), 0
    try:
        with gzip.open(path, "rb") as file:
            while size <= largest and (part := file.read(_PART)):
                size += content.write(part)
    except EOFError:
        raise DumpError(f"{path}: is truncated; take another dump") from None
    except (gzip.BadGzipFile, zlib.error):
        raise DumpError(f"{path}: is not a dump; name a file that a scheduler has written") from None
    except OSError as error:
        raise DumpError(path_problem(str(path), error)) from None
    if size > largest:
        raise DumpError(f"{path}: is larger than the maximum of {largest >> 20} MiB")
    return content.getvalue()


def _entries(path: str | Path, name: str, raw: msgspec.Raw) -> list[TopLevel]:
    kind = _TYPES.get(name)
    if kind is None:
        raise DumpError(f"{path}: contains the unknown kind {name[:80]!r}")
    return msgspec.json.decode(raw, type=list[kind])  # type: ignore[valid-type]
