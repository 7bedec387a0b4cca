"""The record that a PodGroup keeps of the domains in which it was placed, so that a restart does not forget them.

It stands in annotations. Of a group of Kubernetes' own the status alone is ours to write: there it is a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.topology.previous_domains import lost_domains

#: The domain of the whole group, and those of its sub-groups: an object in JSON, by the names of sub-groups.
HOME = "scheduling.stromboli.dev/allocated-hypernode"
SUB_GROUP_HYPERNODES = "scheduling.stromboli.dev/sub-group-hypernodes"
RECORD = (HOME, SUB_GROUP_HYPERNODES)
#: The condition of a native group whose message is the domain.
PLACED = "scheduling.stromboli.dev/Placed"
#: A longer record of sub-groups is not kept: annotations have room for four times as much.
MAX_RECORD_LENGTH = 64 * 1024


def previous_domains_of(group: kube.PodGroup) -> Mapping[str, str]:
    """What a group says about where it and its sub-groups are, by their keys."""
    if not isinstance(group, NativeGroup):
        return previous_domains_in(group.metadata.annotations or {}, group.key)
    told = (each for each in group.origin.status.conditions or () if each.type == PLACED and each.status == "True")
    home = next((each.message for each in told), "")
    return {group.key: home} if home else {}


def previous_domains_in(annotations: Mapping[str, str], key: str) -> Mapping[str, str]:
    """By the key of the group and of its sub-groups. What cannot be understood is like nothing."""
    homes = {key: annotations[HOME]} if annotations.get(HOME) else {}
    if told := annotations.get(SUB_GROUP_HYPERNODES):
        try:
            homes |= {f"{key}/{name}": home for name, home in msgspec.json.decode(told, type=dict[str, str]).items()}
        except msgspec.DecodeError:
            return homes
    return homes


def placement_record_of(homes: Mapping[str, str], key: str) -> dict[str, str]:
    """The annotations that say this; one that has nothing to say is empty."""
    parts = {name.removeprefix(f"{key}/"): home for name, home in sorted(homes.items()) if name != key}
    told = msgspec.json.encode(parts).decode() if parts else ""
    return {HOME: homes.get(key, ""), SUB_GROUP_HYPERNODES: told if len(told) <= MAX_RECORD_LENGTH else ""}


def placement_record_changes(group: kube.PodGroup, wanted: Mapping[str, str]) -> dict[str, str | None]:
    """What must change in the annotations of a group, as a merge patch has it."""
    told = group.metadata.annotations or {}
    return {name: value or None for name, value in wanted.items() if told.get(name, "") != value}


def without_placement_record(group: kube.PodGroup) -> kube.PodGroup:
    """The group as those have written it who ask for something."""
    if isinstance(group, NativeGroup):
        return _without_condition(group)
    told = group.metadata.annotations or {}
    if not any(name in told for name in RECORD):
        return group
    rest = {name: value for name, value in told.items() if name not in RECORD} or None
    return msgspec.structs.replace(group, metadata=msgspec.structs.replace(group.metadata, annotations=rest))


def _without_condition(group: NativeGroup) -> NativeGroup:
    conditions = group.origin.status.conditions or []
    rest = [condition for condition in conditions if condition.type != PLACED]
    if len(rest) == len(conditions):
        return group
    status = msgspec.structs.replace(group.origin.status, conditions=rest)
    return msgspec.structs.replace(group, origin=msgspec.structs.replace(group.origin, status=status))


class PreviousDomains:
    """Which groups have a record, and the networks that it was last compared with."""

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
        """The groups whose record names a domain in vain, when the networks are others than the last time."""
        if self._compared and self._compared[0] is hyper_nodes and self._compared[1] is topologies:
            return ()
        self._compared = hyper_nodes, topologies
        return [
            key
            for key in self._keys
            if (job := jobs.get(key)) is not None and lost_domains(topologies.get(job.spec.network, hyper_nodes), job)
        ]
