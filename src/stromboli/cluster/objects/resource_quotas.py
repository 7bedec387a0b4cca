"""ResourceQuotas: conversion to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stromboli import kube
from stromboli.core.model.queues.quota import Quota, quota_amounts
from stromboli.kube.objects.meta import Resources


class ResourceQuotas:
    def __init__(self) -> None:
        #: Quotas by namespace; replaced and never edited.
        self.by_namespace: Mapping[str, tuple[Quota, ...]] = {}
        self._objects: dict[str, kube.ResourceQuota] = {}
        self._faults: dict[str, str] = {}

    def apply(self, wire: kube.ResourceQuota) -> None:
        key, namespace = wire.key, wire.metadata.namespace
        self.remove(wire)
        self._objects[key] = wire
        try:
            quota = quota_of(wire)
        except ValueError as error:
            self._faults[key] = f"ResourceQuota {key}: {error}; the quota is left out"
            return
        if quota is not None:
            together = sorted((*self.by_namespace.get(namespace, ()), quota), key=lambda each: each.name)
            self.by_namespace = {**self.by_namespace, namespace: tuple(together)}

    def remove(self, wire: kube.ResourceQuota) -> None:
        namespace, name = wire.metadata.namespace, wire.metadata.name
        self._objects.pop(wire.key, None)
        self._faults.pop(wire.key, None)
        if namespace in self.by_namespace:
            left = tuple(quota for quota in self.by_namespace[namespace] if quota.name != name)
            self.by_namespace = {**self.by_namespace, namespace: left}

    def objects(self) -> Iterable[kube.ResourceQuota]:
        return self._objects.values()

    def warnings(self) -> Iterable[str]:
        return self._faults.values()


def relevant_fields(wire: kube.ResourceQuota) -> tuple[object, ...]:
    """The limits and the usage; those of a quota with scopes are not evaluated, and status.hard is never read."""
    if wire.spec.scopes or wire.spec.scope_selector is not None:
        return ()
    return wire.spec.hard, wire.status.used


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
