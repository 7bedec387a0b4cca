"""The status of bind requests: one write per pass, over the version that was read, and none where nothing is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stromboli.binding.requests.decisions import Decision
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest, BindRequestStatus, MemberStatus
from stromboli.kube.objects.catalogue import BIND_REQUESTS

MAX_REASON_LENGTH, MAX_MEMBER_REASON_LENGTH = 4096, 1024
_ELLIPSIS = "…"


class StatusConflict(Exception):
    """Somebody else wrote a newer status, or the request is gone: everything has to be looked at again."""


class RequestStatuses:
    """`saw` is handed every request as the server answered it, `gone` every one that it does not know any more.

    `epoch` is the term of this binder.
    """

    def __init__(
        self,
        client: Client,
        saw: Callable[[BindRequest], None],
        epoch: Callable[[], int],
        gone: Callable[[BindRequest], None] = lambda request: None,
    ) -> None:
        self._client = client
        self._saw = saw
        self._gone = gone
        self._epoch = epoch

    async def write(
        self, decision: Decision, phase: str, members: Mapping[str, MemberStatus], *, attempts: int, reason: str
    ) -> None:
        """Write all parts. Raises Outrun, or what the server answers; parts may have been written by then."""
        for request in decision.requests:
            pods = [members.get(each.pod_uid) or MemberStatus(each.pod_uid) for each in request.spec.pods]
            wanted = BindRequestStatus(phase, attempts, cut(reason, MAX_REASON_LENGTH), self._epoch(), pods)
            if not _says_the_same(request.status, wanted):
                await self._write(request, wanted)

    async def _write(self, request: BindRequest, status: BindRequestStatus) -> None:
        metadata = request.metadata
        body: dict[str, Any] = {"status": _document(status)}
        if metadata.resource_version:
            body["metadata"] = {"resourceVersion": metadata.resource_version}
        try:
            answered = await self._client.patch(
                BIND_REQUESTS, metadata.name, body, namespace=metadata.namespace, subresource="status"
            )
        except ApiError as error:
            if error.is_conflict:
                self._saw(await self._client.get(BIND_REQUESTS, metadata.name, namespace=metadata.namespace))
                raise StatusConflict(str(error)) from error
            if error.is_missing:
                self._gone(request)
                raise StatusConflict(str(error)) from error
            raise
        self._saw(answered)


def _says_the_same(known: BindRequestStatus, wanted: BindRequestStatus) -> bool:
    """Whether it would be written in vain: another term alone is no news."""
    return msgspec.structs.replace(known, epoch=wanted.epoch) == wanted


def _document(status: BindRequestStatus) -> dict[str, Any]:
    """Everything is said, also what is nothing: a patch leaves alone what it does not name."""
    pods = [{"podUID": each.pod_uid, "phase": each.phase, "reason": each.reason} for each in status.pods]
    return {
        "phase": status.phase,
        "failedAttempts": status.failed_attempts,
        "reason": status.reason,
        "epoch": status.epoch,
        "pods": pods,
    }


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + _ELLIPSIS
