"""The record of the domains in which a PodGroup was placed, so that it survives restarts.

It is stored in annotations; for a native group, of which only the status may be written, in a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.core.model.jobs.job import NO_ENTRIES, Job
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.topology.previous_domains import lost_domains

#: Domain of the whole group, and domains of its sub-groups: a JSON object by sub-group name.
ALLOCATED_HYPERNODE = "scheduling.stromboli.dev/allocated-hypernode"
SUB_GROUP_HYPERNODES = "scheduling.stromboli.dev/sub-group-hypernodes"
RECORD = (ALLOCATED_HYPERNODE, SUB_GROUP_HYPERNODES)
#: Condition of a native group with the domain as its message.
PLACED = "scheduling.stromboli.dev/Placed"
#: Maximum length of the sub-group record; annotations may be four times as long.
MAX_RECORD_LENGTH = 64 * 1024


def previous_domains_of(group: kube.PodGroup) -> Mapping[str, str]:
    """Recorded domains of a group and its sub-groups, by their keys."""
    if not isinstance(group, NativeGroup):
        return previous_domains_in(group.metadata.annotations or {}, group.key)
    placed = (each for each in group.origin.status.conditions or () if each.type == PLACED and each.status == "True")
    domain = next((each.message for each in placed), "")
    return {group.key: domain} if domain else {}


def previous_domains_in(annotations: Mapping[str, str], key: str) -> Mapping[str, str]:
    """By the keys of the group and its sub-groups. A record that cannot be decoded is ignored."""
    if not annotations:
        return NO_ENTRIES
    domains = {key: annotations[ALLOCATED_HYPERNODE]} if annotations.get(ALLOCATED_HYPERNODE) else {}
    if record := annotations.get(SUB_GROUP_HYPERNODES):
        try:
            domains |= {
                f"{key}/{name}": domain for name, domain in msgspec.json.decode(record, type=dict[str, str]).items()
            }
        except msgspec.DecodeError:
            return domains
    return domains


def placement_record_of(domains: Mapping[str, str], key: str) -> dict[str, str]:
    """The annotations that record these domains; an empty value means no annotation."""
    if not domains:
        return dict.fromkeys(RECORD, "")
    parts = {name.removeprefix(f"{key}/"): domain for name, domain in sorted(domains.items()) if name != key}
    record = msgspec.json.encode(parts).decode() if parts else ""
    return {
        ALLOCATED_HYPERNODE: domains.get(key, ""),
        SUB_GROUP_HYPERNODES: record if len(record) <= MAX_RECORD_LENGTH else "",
    }


def placement_record_changes(group: kube.PodGroup, desired: Mapping[str, str]) -> dict[str, str | None]:
    """Changes to a group's annotations, as a merge patch."""
    annotations = group.metadata.annotations or {}
    return {name: value or None for name, value in desired.items() if annotations.get(name, "") != value}


def without_placement_record(group: kube.PodGroup) -> kube.PodGroup:
    """The group without the record that Stromboli writes."""
    if isinstance(group, NativeGroup):
        return _without_condition(group)
    annotations = group.metadata.annotations or {}
    if not any(name in annotations for name in RECORD):
        return group
    rest = {name: value for name, value in annotations.items() if name not in RECORD} or None
    return msgspec.structs.replace(group, metadata=msgspec.structs.replace(group.metadata, annotations=rest))


def _without_condition(group: NativeGroup) -> NativeGroup:
    conditions = group.origin.status.conditions or []
    rest = [condition for condition in conditions if condition.type != PLACED]
    if len(rest) == len(conditions):
        return group
    status = msgspec.structs.replace(group.origin.status, conditions=rest)
    return msgspec.structs.replace(group, origin=msgspec.structs.replace(group.origin, status=status))


class PreviousDomains:
    """The groups with a record, and the topologies that the records were last checked against."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._compared: tuple[Any, ...] = ()

    def apply(self, group: kube.PodGroup) -> None:
        if previous_domains_of(group):
            self._keys.add(group.key)
        else:
            self._keys.discard(group.key)

    def remove(self, key: str) -> None:
        self._keys.discard(key)

    def outdated(
        self, jobs: Mapping[str, Job], hyper_nodes: HyperNodeTree, topologies: Mapping[str, HyperNodeTree]
    ) -> Iterable[str]:
        """Groups whose record names a domain that no longer exists; empty while the topologies are unchanged."""
        if self._compared and self._compared[0] is hyper_nodes and self._compared[1] is topologies:
            return ()
        self._compared = hyper_nodes, topologies
        return [
            key
            for key in self._keys
            if (job := jobs.get(key)) is not None and lost_domains(topologies.get(job.spec.network, hyper_nodes), job)
        ]
