"""Node usage from Elasticsearch, as Metricbeat stores it: one search over all nodes."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from stromboli.core.model.nodes.usage import Usage
from stromboli.external.figures import Figure, SourceProblem, joined
from stromboli.kube.client.transport import Transport

CPU, MEMORY, TIME = "host.cpu.usage", "system.memory.actual.used.pct", "@timestamp"
#: Above the largest cluster.
_MAX_NODES = 20_000


class _Number(msgspec.Struct):
    value: float | None = None


class _Bucket(msgspec.Struct):
    key: str
    cpu: _Number = msgspec.field(default_factory=_Number)
    memory: _Number = msgspec.field(default_factory=_Number)
    seen: _Number = msgspec.field(default_factory=_Number)


class _Nodes(msgspec.Struct):
    buckets: list[_Bucket] = []


class _Aggregations(msgspec.Struct):
    nodes: _Nodes = msgspec.field(default_factory=_Nodes)


class _SearchResponse(msgspec.Struct):
    aggregations: _Aggregations = msgspec.field(default_factory=_Aggregations)


_ANSWER = msgspec.json.Decoder(_SearchResponse)


class Elasticsearch:
    def __init__(self, transport: Transport, window: float, index: str, hostname_field: str) -> None:
        self._transport = transport
        self._path = f"/{quote(index, safe='*,-')}/_search"
        self._body = msgspec.json.encode(_search(max(round(window), 1), hostname_field))

    async def read(self) -> dict[str, Usage]:
        body = await self._transport.request("POST", self._path, body=self._body)
        try:
            buckets = _ANSWER.decode(body).aggregations.nodes.buckets
        except msgspec.DecodeError as error:
            raise SourceProblem(f"unreadable response from Elasticsearch: {error}") from None
        return joined(
            {each.key: _figure(each.cpu, each.seen) for each in buckets},
            {each.key: _figure(each.memory, each.seen) for each in buckets},
        )

    async def close(self) -> None:
        await self._transport.close()


def _search(window: int, hostname_field: str) -> dict[str, object]:
    """Averages per host over the window, and the time of its latest document."""
    figures = {"cpu": {"avg": {"field": CPU}}, "memory": {"avg": {"field": MEMORY}}, "seen": {"max": {"field": TIME}}}
    return {
        "size": 0,
        "query": {"range": {TIME: {"gte": f"now-{window}s"}}},
        "aggs": {"nodes": {"terms": {"field": hostname_field, "size": _MAX_NODES}, "aggs": figures}},
    }


def _figure(number: _Number, seen: _Number) -> Figure:
    """Times are in milliseconds; a missing measurement is NaN."""
    nothing = float("nan")
    at = nothing if seen.value is None else seen.value / 1000.0
    return Figure(nothing if number.value is None else number.value, at)
