"""What the watches have not reported, and what a request without an answer left open, is asked of the server."""

from __future__ import annotations

import asyncio

from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import FAILED, BindRequest, BoundPod
from stromboli.kube.objects.catalogue import NODES, PODS

AT_A_TIME = 16


class OutcomeLookup:
    def __init__(self, client: Client, sight: BinderClusterView) -> None:
        self._client = client
        self._view = sight

    async def resolve(self, decision: Decision) -> None:
        """Ask about members that nobody has seen, or of which nobody knows whether they were bound, and about nodes.

        Raises what the server answers; whatever is not known by then is asked again.
        """
        given_up = decision.in_phase(FAILED)
        members = [(request, member) for request, member in decision.members() if member.pod_uid not in given_up]
        doubtful = [(request, member) for request, member in members if self._needs_lookup(decision, member)]
        nodes = {member.selected_node for _, member in members if self._view.node(member.selected_node) is None}
        turns = asyncio.Semaphore(AT_A_TIME)

        async def pod(request: BindRequest, member: BoundPod) -> None:
            async with turns:
                await self._look_up_pod(request, member)
                decision.unknown.discard(member.pod_uid)

        async def node(name: str) -> None:
            async with turns:
                await self._look_up_node(name)

        questions = [*(pod(*each) for each in doubtful), *(node(name) for name in sorted(nodes))]
        answers = await asyncio.gather(*questions, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    def _needs_lookup(self, decision: Decision, member: BoundPod) -> bool:
        return member.pod_uid in decision.unknown or self._view.pod(member.pod_uid) is None

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

    async def _look_up_node(self, name: str) -> None:
        try:
            node = await self._client.get(NODES, name)
            self._view.apply(node)
        except ApiError as error:
            if not error.is_missing:
                raise
