"""Placements by pod uid and node, for tests of the cache."""

from collections.abc import Mapping

from stromboli.core.model.devices.claims import ClaimChoice, ClaimOrder
from stromboli.core.model.nodes.numa import PROCESSORS
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volumes import VolumeChoice, VolumeOrder


def placement(
    uid: str,
    node: str,
    processors: str = "",
    *,
    annotations: Mapping[str, str] | None = None,
    volumes: tuple[VolumeChoice, ...] = (),
    devices: tuple[ClaimChoice, ...] = (),
) -> Placement:
    return Placement(
        uid=uid,
        namespace="",
        name=uid,
        job="",
        node=node,
        annotations={**(annotations or {}), **({PROCESSORS: processors} if processors else {})},
        volumes=VolumeOrder(volumes) if volumes else None,
        devices=ClaimOrder(choices=devices) if devices else None,
    )
