"""Reads pods and nodes from the API server: those that the watches do not show, and those with an unknown bind."""

from __future__ import annotations

import asyncio

from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import FAILED, BindRequest, BoundPod
from stromboli.kube.objects.catalogue import NODES, PODS

MAX_PARALLEL = 16


class OutcomeLookup:
    def __init__(self, client: Client, view: BinderClusterView) -> None:
        self._client = client
        self._view = view

    async def resolve(self, decision: Decision) -> None:
        """Read members that the watches have not shown or whose bind has an unknown outcome, and missing nodes.

        Raises the first error of the API server; what is still unresolved then is read again by the next call.
        """
        failed = decision.in_phase(FAILED)
        members = [(request, member) for request, member in decision.members() if member.pod_uid not in failed]
        unresolved = [
            (request, member)
            for request, member in members
            if member.pod_uid in decision.unknown or self._view.pod(member.pod_uid) is None
        ]
        nodes = {member.selected_node for _, member in members if self._view.node(member.selected_node) is None}
        slots = asyncio.Semaphore(MAX_PARALLEL)

        async def pod(request: BindRequest, member: BoundPod) -> None:
            async with slots:
                await self._look_up_pod(request, member)
                decision.unknown.discard(member.pod_uid)

        async def node(name: str) -> None:
            async with slots:
                try:
                    found = await self._client.get(NODES, name)
                    self._view.apply(found)
                except ApiError as error:
                    if not error.is_missing:
                        raise

        lookups = [*(pod(*each) for each in unresolved), *(node(name) for name in sorted(nodes))]
        for result in await asyncio.gather(*lookups, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def _look_up_pod(self, request: BindRequest, member: BoundPod) -> None:
        known = self._view.pod(member.pod_uid)
        try:
            found = await self._client.get(PODS, member.pod_name, namespace=request.metadata.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            if known is not None:
                self._view.remove(known)
        else:
            self._view.apply(found)
