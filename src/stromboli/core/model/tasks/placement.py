"""Placement: a pod, the node chosen for it, and everything allocated to it there.

The statement yields placements on commit; the cache assumes them, bind orders and bind requests carry them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from stromboli.core.model.devices.claims import ClaimOrder
from stromboli.core.model.volumes.volumes import VolumeOrder


class Placement(msgspec.Struct, frozen=True):
    """A struct of msgspec, as a cycle creates many thousands of them."""

    uid: str
    namespace: str
    name: str
    #: Key of the pod's job.
    job: str
    node: str
    #: Annotations that plugins add to the pod with the binding, such as assigned processors and shared devices.
    #: Binder plugins may add to them until the pod is bound.
    annotations: dict[str, str] = {}
    #: Volumes that must be bound or provisioned before the pod is bound.
    volumes: VolumeOrder | None = None
    #: ResourceClaims that must be allocated and reserved before the pod is bound.
    devices: ClaimOrder | None = None
    #: Labels that are added to the pod with the binding.
    labels: dict[str, str] = {}
    #: Allocations to write to the status of ResourceClaims, by the pod's own name for the claim.
    allocations: Mapping[str, Mapping[str, Any]] = {}

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"
