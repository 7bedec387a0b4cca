"""Controllers recreate evicted pods, which then wait."""

from __future__ import annotations

import msgspec

from stromboli import kube
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster


def cycle_with_recreated_pods(world: PlannedCluster, number: int) -> Session:
    """One cycle; its victims are recreated at once. The number distinguishes the new pods from the old ones."""
    session = world.decide()
    back = [world._cluster.pods.get(eviction.task.uid) for eviction in session.decisions.evictions]
    world.apply_decisions(session)
    for each in back:
        world._cluster.apply(anew(each, number))
    return session


def anew(old: kube.Pod, number: int) -> kube.Pod:
    """The pod that replaces an evicted one."""
    return msgspec.structs.replace(
        old,
        metadata=msgspec.structs.replace(old.metadata, uid=f"{old.metadata.uid}-{number}"),
        spec=msgspec.structs.replace(old.spec, node_name=None),
        status=kube.PodStatus(phase="Pending"),
    )
