"""Deletion of objects: preconditions, grace periods, finalizers and propagation policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stromboli.local.api_server.clock import seconds_from_now
from stromboli.local.api_server.errors import Cause, bad_request, invalid_options, precondition_failed
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, StoreEntry
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.api_server.writes import Writes
from stromboli.local.kinds.strategies import Strategies
from stromboli.local.kinds.validation.field_errors import one_of, wrong
from stromboli.local.kinds.validation.types import DeleteOptionsTypes, check_type

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_FINALIZERS = {"Orphan": ORPHAN, "Foreground": FOREGROUND}
_POLICIES = ("Foreground", "Background", "Orphan", "nil")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """DeleteOptions, from the body and the query of the request."""

    grace_period: int | None = None
    uid: str = ""
    resource_version: str = ""
    #: Empty keeps the existing finalizers.
    propagation: str = ""
    dry_run: bool = False

    @classmethod
    def parse(cls, body: Any, query: Mapping[str, str]) -> DeleteOptions:
        document = {} if body is None else body
        check_type(document, DeleteOptionsTypes, "DeleteOptions")
        preconditions = document.get("preconditions") or {}
        grace = document.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        orphans = document.get(
            "orphanDependents", {"true": True, "false": False}.get(query.get("orphanDependents", ""))
        )
        propagation = document.get("propagationPolicy") or query.get("propagationPolicy") or ""
        dry_run = document.get("dryRun") or ()
        if causes := [*_propagation_causes(propagation, orphans), *_dry_run_causes(dry_run)]:
            raise invalid_options("DeleteOptions", causes)
        if orphans is not None:
            propagation = "Orphan" if orphans else "Background"
        return cls(
            grace_period=_seconds(grace),
            uid=preconditions.get("uid") or "",
            resource_version=preconditions.get("resourceVersion") or "",
            propagation=propagation,
            dry_run="All" in dry_run or query.get("dryRun") == "All",
        )


def _propagation_causes(propagation: str, orphans: bool | None) -> Iterator[Cause]:
    if propagation and orphans is not None:
        yield wrong("propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set")
    elif propagation:
        yield from one_of("propagationPolicy", propagation, _POLICIES)


def _dry_run_causes(wanted: Iterable[str]) -> Iterator[Cause]:
    for each in wanted:
        if each != "All":
            why = f'Unsupported value: ["{each}"]: supported values: "All"'
            yield Cause("FieldValueNotSupported", why, "dryRun")


def _seconds(found: Any) -> int | None:
    if found is None:
        return None
    try:
        return int(found)
    except (TypeError, ValueError) as error:
        raise bad_request(f"gracePeriodSeconds: {found!r} is not a whole number") from error


class Deletion:
    """Removes objects, or marks them for deletion while finalizers or a grace period remain."""

    def __init__(self, writes: Writes, strategies: Strategies) -> None:
        self._writes = writes
        self._strategies = strategies

    def delete(self, resource: ServedResource, entry: StoreEntry, options: DeleteOptions) -> tuple[StoreEntry, bool]:
        """Delete an object; return its current state and whether it is gone."""
        check_preconditions(resource, entry, options)
        metadata = self._marked(resource, entry, options)
        body = {**entry.body, "metadata": metadata}
        self._strategies(resource).delete_begins(resource, body)
        if self._writes.is_finished(resource, body):
            if options.dry_run:
                return entry, True
            if resource.kind == "Pod" and body != entry.body:
                entry = self._writes.mark(
                    resource, entry, body
                )  # watches see the deletion timestamp before the pod is gone
            return self._writes.remove(resource, entry, body), True
        if body == entry.body:
            return entry, False
        return self._writes.store_marked(resource, entry, body, WriteOptions(dry_run=options.dry_run)), False

    def _marked(self, resource: ServedResource, entry: StoreEntry, options: DeleteOptions) -> Object:
        metadata = dict(entry.metadata)
        propagation = options.propagation or self._strategies(resource).propagation
        finalizers = _finalizers(metadata.get("finalizers") or [], propagation)
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        grace = self._strategies(resource).grace_period(entry.body, options.grace_period)
        if "deletionTimestamp" not in metadata or grace < metadata.get("deletionGracePeriodSeconds", 0):
            metadata["deletionTimestamp"] = seconds_from_now(grace)
            metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata and "deletionTimestamp" not in entry.metadata:
            metadata["generation"] += 1
        return metadata


def check_preconditions(resource: ServedResource, entry: StoreEntry, options: DeleteOptions) -> None:
    found = entry.metadata
    if options.uid and options.uid != found["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({found['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise precondition_failed(resource, entry.key[1], why)
    if options.resource_version and options.resource_version != found["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({found['resourceVersion']}). The object might have been modified"
        )
        raise precondition_failed(resource, entry.key[1], why)


def _finalizers(found: list[str], propagation: str) -> list[str]:
    """Replace the finalizers of propagation policies by the requested one."""
    if not propagation:
        return found
    others = [name for name in found if name not in (ORPHAN, FOREGROUND)]
    wanted = _FINALIZERS.get(propagation)
    return [*others, wanted] if wanted else others
