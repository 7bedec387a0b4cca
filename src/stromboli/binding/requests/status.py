"""The status of bind requests: one write per run, with the resource version that was read, and only if it changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest, BindRequestStatus, MemberStatus
from stromboli.kube.objects.catalogue import BIND_REQUESTS

MAX_REASON_LENGTH, MAX_MEMBER_REASON_LENGTH = 4096, 1024
_ELLIPSIS = "…"


class StatusConflict(Exception):
    """Another writer changed the request, or it was deleted: the decision has to be reconciled again."""


class RequestStatuses:
    """`epoch` returns the term of this binder."""

    def __init__(self, client: Client, view: BinderClusterView, epoch: Callable[[], int]) -> None:
        self._client = client
        self._view = view
        self._epoch = epoch

    async def write(
        self, decision: Decision, phase: str, members: Mapping[str, MemberStatus], *, attempts: int, reason: str
    ) -> None:
        """Write all parts. Raises StatusConflict or a request error; some parts may have been written by then."""
        for request in decision.requests:
            pods = [members.get(each.pod_uid) or MemberStatus(each.pod_uid) for each in request.spec.pods]
            status = BindRequestStatus(phase, attempts, cut(reason, MAX_REASON_LENGTH), self._epoch(), pods)
            if msgspec.structs.replace(request.status, epoch=status.epoch) != status:  # the term alone needs no write
                await self._write(request, status)

    async def _write(self, request: BindRequest, status: BindRequestStatus) -> None:
        metadata = request.metadata
        body: dict[str, Any] = {"status": _document(status)}
        if metadata.resource_version:
            body["metadata"] = {"resourceVersion": metadata.resource_version}
        try:
            written = await self._client.patch(
                BIND_REQUESTS, metadata.name, body, namespace=metadata.namespace, subresource="status"
            )
        except ApiError as error:
            if error.is_conflict:
                newer = await self._client.get(BIND_REQUESTS, metadata.name, namespace=metadata.namespace)
                self._view.apply(newer)
                raise StatusConflict(str(error)) from error
            if error.is_missing:
                self._view.remove(request)
                raise StatusConflict(str(error)) from error
            raise
        self._view.apply(written)


def _document(status: BindRequestStatus) -> dict[str, Any]:
    """Return all fields, empty ones included: a patch keeps fields that it does not name."""
    pods = [{"podUID": each.pod_uid, "phase": each.phase, "reason": each.reason} for each in status.pods]
    return {
        "phase": status.phase,
        "failedAttempts": status.failed_attempts,
        "reason": status.reason,
        "epoch": status.epoch,
        "pods": pods,
    }


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + _ELLIPSIS
