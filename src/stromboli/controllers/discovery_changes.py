"""Changes that turn the discovered HyperNodes of a cluster into the current ones; users' HyperNodes stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stromboli.controllers.discovered_hypernodes import as_manifest, is_discovered
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import HYPER_NODES
from stromboli.kube.objects.topology import KubeHyperNode

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


@dataclass(frozen=True, slots=True)
class HyperNodeChanges:
    """HyperNodes to create, change and remove, and those that stay."""

    #: All desired HyperNodes, except taken names.
    wanted: tuple[KubeHyperNode, ...]
    made: tuple[KubeHyperNode, ...]
    #: The objects as they are in the cluster, like the removed ones.
    changed: tuple[KubeHyperNode, ...]
    removed: tuple[KubeHyperNode, ...]
    same: tuple[KubeHyperNode, ...]
    #: Names of discovered domains that users' HyperNodes have: these represent the domains.
    taken: tuple[str, ...]


def changes_to(existing: Iterable[KubeHyperNode], discovered: Iterable[KubeHyperNode]) -> HyperNodeChanges:
    there, found = {each.key: each for each in existing}, {each.key: each for each in discovered}
    taken = tuple(name for name in found if name in there and not is_discovered(there[name]))
    wanted = {name: each for name, each in found.items() if name not in taken}
    kept = [there[name] for name in wanted if name in there]
    return HyperNodeChanges(
        wanted=tuple(wanted.values()),
        made=tuple(each for name, each in wanted.items() if name not in there),
        changed=tuple(each for each in kept if each.spec != wanted[each.key].spec),
        removed=tuple(each for name, each in there.items() if is_discovered(each) and name not in found),
        same=tuple(each for each in kept if each.spec == wanted[each.key].spec),
        taken=taken,
    )


async def write(client: Client, changes: HyperNodeChanges) -> None:
    """Apply the changes. Raises RequestFailed, also for concurrent writes."""
    known, fine = {each.key: each for each in changes.changed}, {each.key for each in changes.same}
    for each in changes.wanted:
        if each.key not in fine:
            await _apply(client, each, known.get(each.key))
    for each in changes.removed:
        await _remove(client, each)


async def _apply(client: Client, wanted: KubeHyperNode, known: KubeHyperNode | None) -> None:
    """Write over the version that was read; a new object does not take over fields of others."""
    body = as_manifest(wanted)
    if known is not None:
        body["metadata"] |= {"uid": known.metadata.uid, "resourceVersion": known.metadata.resource_version}
    await client.patch(HYPER_NODES, wanted.key, body, kind=PatchKind.APPLY, force=known is not None)


async def _remove(client: Client, hyper_node: KubeHyperNode) -> None:
    """Delete the object in the version that was read: its label may have been removed since."""
    metadata = hyper_node.metadata
    try:
        await client.delete(
            HYPER_NODES, metadata.name, uid=metadata.uid, resource_version=metadata.resource_version or ""
        )
    except ApiError as error:
        if not error.is_missing:
            raise
