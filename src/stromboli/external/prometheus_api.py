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
    """Return the present samples. Raises RequestFailed or SourceProblem, as the function below."""
    return await _result(transport, "query", "vector", {"query": query})


async def query_range(
    transport: Transport, query: str, start: float, end: float, step: float
) -> Sequence[PrometheusSeries]:
    """Return the samples from start to end, one per step."""
    parameters = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
    return await _result(transport, "query_range", "matrix", parameters)


async def _result(
    transport: Transport, endpoint: str, result_type: str, parameters: Mapping[str, str]
) -> Sequence[PrometheusSeries]:
    body = await transport.request("GET", f"/api/v1/{endpoint}", params=parameters)
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
