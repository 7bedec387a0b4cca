"""Watched objects that the rules need."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from typing import Any

from stromboli import kube
from stromboli.admission.facts import Facts
from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.kube.client.client import Client
from stromboli.kube.objects import native
from stromboli.kube.objects.catalogue import (
    EARLY_NATIVE_POD_GROUPS,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PRIORITY_CLASSES,
    QUEUES,
)
from stromboli.kube.watch.informer import Informer
from stromboli.workloads.groups import native_key


class AdmissionLister:
    """One watch per kind that the rules read."""

    def __init__(self, client: Client) -> None:
        self._queues = Informer(client, QUEUES)
        self._groups = Informer(client, POD_GROUPS)
        self._namespaces = Informer(client, NAMESPACES)
        self._classes = Informer(client, PRIORITY_CLASSES)
        self._native = [
            Informer(client, resource, optional=True) for resource in (NATIVE_POD_GROUPS, EARLY_NATIVE_POD_GROUPS)
        ]
        self._native_groups: dict[str, kube.PodGroup] = {}
        for informer in self._native:
            informer.listen(self._native_changed)
        self._informers: tuple[Informer[Any], ...] = (
            self._queues,
            self._groups,
            self._namespaces,
            self._classes,
            *self._native,
        )

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run())

    async def listed(self) -> None:
        """Wait until the initial lists are complete."""
        for informer in self._informers:
            await informer.synced.wait()

    def missing(self) -> str | None:
        """The kinds that are not listed yet, for the readiness probe."""
        names = [informer.resource.name for informer in self._informers if not informer.synced.is_set()]
        return f"not listed yet: {', '.join(names)}" if names else None

    def facts(self) -> Facts:
        return Facts(
            queues=self._queues.objects,
            groups=ChainMap(self._groups.objects, self._native_groups),
            namespaces=self._namespaces.objects,
            priority_classes=self._classes.objects,
        )

    def _native_changed(self, old: native.NativePodGroup | None, new: native.NativePodGroup | None) -> None:
        group = new or old or native.NativePodGroup()
        key = native_key(group.metadata.namespace, group.metadata.name)
        if new is None:
            self._native_groups.pop(key, None)
        else:
            self._native_groups[key] = as_group(new)
