"""ResourceQuotas: conversion to the model."""

from __future__ import annotations

from collections.abc import Callable

from stromboli import kube
from stromboli.core.model.queues.quota import Quota, quota_amounts
from stromboli.kube.objects.meta import Resources


def quota_of(wire: kube.ResourceQuota) -> Quota | None:
    """The quota; None for one with scopes, which cannot be evaluated for pods that do not exist yet.

    Raises ValueError, with the field in front, for an invalid amount.
    """
    if wire.spec.scopes or wire.spec.scope_selector is not None:
        return None
    return Quota(
        wire.metadata.name, _amounts("spec.hard", wire.spec.hard, min), _amounts("status.used", wire.status.used, max)
    )


def _amounts(field: str, resources: Resources | None, of_two: Callable[[int, int], int]) -> dict[str, int]:
    try:
        return quota_amounts(resources, of_two)
    except ValueError as error:
        raise ValueError(f"{field}.{error}") from None
