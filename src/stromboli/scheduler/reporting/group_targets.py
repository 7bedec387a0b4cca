"""The target and format of the status of a group: as a PodGroup of Volcano or a native one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS, NATIVE_POD_GROUPS, POD_GROUPS
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.scheduler.reporting.native_patches import disruption_patch, native_staleness_patch, scheduled_patch
from stromboli.scheduler.reporting.patches import condition_patch, group_patch, staleness_patch


@dataclass(frozen=True, slots=True)
class GroupTarget:
    """A group on the server. `status` makes the patch for the result of a cycle, `condition` for an incident,
    `staleness` for members lost below the minimum.
    """

    resource: Resource[Any]
    entry: TopLevel
    status: Callable[..., dict[str, Any] | None]
    condition: Callable[..., dict[str, Any] | None]
    staleness: Callable[..., dict[str, Any] | None]
    kind: PatchKind = PatchKind.MERGE
    subresource: str = ""

    @property
    def key(self) -> str:
        """The key on the server."""
        return self.entry.key


def target_of(group: kube.PodGroup) -> GroupTarget:
    if not isinstance(group, NativeGroup):
        return GroupTarget(POD_GROUPS, group, group_patch, condition_patch, staleness_patch)
    is_early = group.origin.api_version == EARLY_NATIVE_POD_GROUPS.api_version
    resource = EARLY_NATIVE_POD_GROUPS if is_early else NATIVE_POD_GROUPS
    patches = scheduled_patch, disruption_patch, native_staleness_patch
    return GroupTarget(resource, group.origin, *patches, PatchKind.STRATEGIC, "status")
