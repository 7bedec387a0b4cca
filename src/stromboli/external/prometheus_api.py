"""The part of Prometheus's HTTP API that is used here: a query at this moment, and a query over a range of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from stromboli.external.figures import SourceProblem
from stromboli.kube.client.transport import Transport

#: A time, and a number as text.
Sample = tuple[float, str]


class PrometheusSeries(msgspec.Struct):
    """A series of a result: queries at a moment set `value`, queries over a range `values`."""

    metric: dict[str, str] = {}
    value: Sample | None = None
    values: list[Sample] = []


class _Data(msgspec.Struct, rename="camel"):
    result_type: str = ""
    result: list[PrometheusSeries] = []


class _Response(msgspec.Struct):
    status: str = ""
    error: str = ""
    data: _Data = msgspec.field(default_factory=_Data)


_RESPONSE = msgspec.json.Decoder(_Response)


async def query_now(transport: Transport, query: str) -> Sequence[PrometheusSeries]:
    """Return the present samples. Raises RequestFailed or SourceProblem."""
    return _series(await _body(transport, "query", {"query": query}), "vector")


async def query_range(transport: Transport, query: str, start: float, end: float, step: float) -> bytes:
    """Return a response with samples from start to end, one per step, for `series_in_range`. Raises RequestFailed."""
    parameters = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
    return await _body(transport, "query_range", parameters)


def series_in_range(body: bytes) -> Sequence[PrometheusSeries]:
    """Decode a response of many samples, which takes a while. Raises SourceProblem."""
    return _series(body, "matrix")


async def _body(transport: Transport, endpoint: str, parameters: Mapping[str, str]) -> bytes:
    return await transport.request("GET", f"/api/v1/{endpoint}", params=parameters)


def _series(body: bytes, result_type: str) -> Sequence[PrometheusSeries]:
    try:
        response = _RESPONSE.decode(body)
    except msgspec.DecodeError as error:
        raise SourceProblem(f"unreadable response from Prometheus: {error}") from None
    if response.status != "success" or response.data.result_type != result_type:
        why = response.error[:200] or response.data.result_type or "no data"
        raise SourceProblem(f"Prometheus query failed: {why}")
    return response.data.result


def number_of(text: str) -> float:
    """Return the number of a sample."""
    try:
        return float(text)
    except ValueError:
        raise SourceProblem(f"unreadable response from Prometheus: {text[:64]!r} in place of a number") from None
