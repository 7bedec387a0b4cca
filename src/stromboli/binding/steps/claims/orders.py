"""What is to be written on the claims of a pod, from what was chosen for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stromboli.binding.orders import ClaimWrite
from stromboli.cluster.objects.claims.claim_allocations import allocation_of, choice_in
from stromboli.cluster.objects.claims.claim_needs import uses_of
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.core.model.devices.claims import ClaimChoice, ClaimOrder
from stromboli.kube.objects.pod import Pod


def writes_of(order: ClaimOrder | None, node: str, book: ResourceClaims) -> tuple[ClaimWrite, ...]:
    """All claims of a pod that goes to a node, each with what it gets if it has nothing yet."""
    if order is None:
        return ()
    choices = {choice.name: choice for choice in order.choices}
    return tuple(ClaimWrite(name, key, _allocation(choices.get(name), key, node, book)) for name, key in order.claims)


def _allocation(choice: ClaimChoice | None, key: str, node: str, book: ResourceClaims) -> dict[str, Any] | None:
    claim = book.claim(key)
    if choice is None or claim is None:
        return None
    allocation: dict[str, Any] = msgspec.to_builtins(allocation_of(claim, choice, node, book.device_class))
    return allocation


def writes_for(pod: Pod, given: Mapping[str, Mapping[str, Any]]) -> tuple[ClaimWrite, ...]:
    """The same for whoever has the pod, and by its own names what its claims are given."""
    return tuple(ClaimWrite(use.name, use.key, given.get(use.name)) for use in uses_of(pod) if use.key)


def choices_in(writes: tuple[ClaimWrite, ...]) -> tuple[ClaimChoice, ...]:
    """What was chosen, read back from what is to be written."""
    found = (choice_in(write.name, write.allocation) for write in writes if write.allocation)
    return tuple(choice for choice in found if choice is not None)
