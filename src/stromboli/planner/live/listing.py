"""Lists of all kinds that decisions depend on, as the scheduler watches them.

Kinds are listed concurrently, in pages, and decoded to the fields that decisions read. A kind that the API server does
not serve is empty if it is optional; a required one is an error with its remedy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, Listing
from stromboli.kube.objects.catalogue import (
    EARLY_NATIVE_POD_GROUPS,
    NATIVE_POD_GROUPS,
    NODE_SHARDS,
    RESOURCE_CLAIM_TEMPLATES,
)
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.planner.live.errors import AccessDenied, MissingKinds, NotAuthenticated

#: Larger pages than those of watches: the command lists once, and holds nothing else.
PAGE_SIZE = 2000
#: Every further connection costs a TLS handshake.
_MAX_CONCURRENT = 6

#: Kinds that a scheduler watches on other conditions, or that only its neighbours read.
_FURTHER = (NODE_SHARDS, RESOURCE_CLAIM_TEMPLATES)
OPTIONAL: tuple[Resource[Any], ...] = (
    *(each for each in WATCHED_OPTIONAL if each is not EARLY_NATIVE_POD_GROUPS),
    *_FURTHER,
)
REQUIRED = WATCHED_REQUIRED


@dataclass(slots=True)
class ClusterObjects:
    """The objects of a cluster, and warnings about those that are missing."""

    #: Not in the representation, which asyncio makes of the result of a task.
    objects: list[TopLevel] = field(default_factory=list, repr=False)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The list of one kind, or why there is none."""

    resource: Resource[Any]
    listing: Listing[Any] | None = None
    error: ApiError | None = None


async def list_objects(client: Client) -> ClusterObjects:
    """List all kinds. Raises NotAuthenticated, AccessDenied, MissingKinds, or RequestFailed."""
    slots = asyncio.Semaphore(_MAX_CONCURRENT)
    lists = (_list(client, resource, slots) for resource in (*REQUIRED, *OPTIONAL))
    found = await asyncio.gather(*lists, return_exceptions=True)  # none outlives the client
    answers = [answer for answer in found if isinstance(answer, _Answer)]
    for error in found:
        if isinstance(error, BaseException):
            raise error
    _check_access(answers)
    await _check_presence(client, answers)
    return _collected(answers)


async def _list(client: Client, resource: Resource[Any], slots: asyncio.Semaphore) -> _Answer:
    async with slots:
        try:
            return _Answer(resource, await _all_pages(client, resource))
        except ApiError as error:
            if resource is NATIVE_POD_GROUPS and error.is_missing:
                return await _list_early_groups(client)
            if not (error.is_denied or error.is_missing):
                raise
            return _Answer(resource, error=error)


async def _list_early_groups(client: Client) -> _Answer:
    """Older API servers serve native groups in an earlier version only."""
    try:
        return _Answer(EARLY_NATIVE_POD_GROUPS, await _all_pages(client, EARLY_NATIVE_POD_GROUPS))
    except ApiError as error:
        if not (error.is_denied or error.is_missing):
            raise
        return _Answer(EARLY_NATIVE_POD_GROUPS, error=error)


async def _all_pages(client: Client, resource: Resource[Any]) -> Listing[Any]:
    """List in pages; if they expire before the last one is read, all at once."""
    try:
        return await client.list(resource, limit=PAGE_SIZE)
    except ApiError as error:
        if not error.is_expired:
            raise
        return await client.list(resource, limit=0)


def _check_access(answers: Iterable[_Answer]) -> None:
    for answer in answers:
        if answer.error is not None and answer.error.status == 401:
            raise NotAuthenticated(answer.error.message)
    denied = [each.resource.name for each in _failed(answers) if each.resource in REQUIRED and _is_denied(each)]
    if denied:
        raise AccessDenied(denied)


async def _check_presence(client: Client, answers: Iterable[_Answer]) -> None:
    """A required kind that is not served: its CRD is missing, or serves other versions only."""
    absent = [each.resource for each in _failed(answers) if each.resource in REQUIRED]
    if absent:
        raise MissingKinds(absent, await _served_versions(client, absent[0].group))


async def _served_versions(client: Client, group: str) -> Sequence[str]:
    """Return the versions of an API group that the server serves."""
    import msgspec

    try:
        found = msgspec.json.decode(await client.request("GET", f"/apis/{group}"))
    except (ApiError, msgspec.DecodeError):
        return ()
    return [str(each.get("version")) for each in found.get("versions") or () if isinstance(each, dict)]


def _collected(answers: Iterable[_Answer]) -> ClusterObjects:
    found = ClusterObjects()
    for answer in answers:
        if answer.listing is None:
            continue
        found.objects += answer.listing.items
        for each in answer.listing.unreadable:
            found.warnings.append(f"{answer.resource.kind} {each.key}: {each.problem}; it is left out")
    denied = [each.resource.name for each in _failed(answers) if _is_denied(each)]
    if denied:
        names = ", ".join(sorted(denied))
        found.warnings.append(
            f"you may not list {names}: the result assumes that there are none; ask for the ClusterRole "
            "stromboli-viewer"
        )
    return found


def _failed(answers: Iterable[_Answer]) -> list[_Answer]:
    return [answer for answer in answers if answer.error is not None]


def _is_denied(answer: _Answer) -> bool:
    return answer.error is not None and answer.error.is_denied
