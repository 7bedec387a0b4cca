"""Past usage from Prometheus: amounts over time, and a source that fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.configuration_errors import ConfigurationError
from stromboli.core.config.metrics_options import MetricsSource
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.external.past_usage import PrometheusPastUsage
from stromboli.external.past_usage_feed import ExternalPastUsage
from stromboli.kube.client.transport import Transport
from tests.testing.cases.case import BUILT_IN
from tests.unit.external.http_service import (
    Exchange,
    Handler,
    HttpService,
    disconnects,
    endless,
    http_service,
    never_responds,
    responds,
    responds_text,
)

AXIS = ResourceAxis(("cpu", "memory", "pods", "nvidia.com/gpu"))
NOW = 1_772_366_400.0
#: The period of 50 minutes is queried in steps of 15 s.
STEP = 15.0


@pytest.fixture
def server() -> Iterator[HttpService]:
    with http_service() as service:
        yield service


def source_of(address: str, period: str = "50m", **queries: str) -> MetricsSource:
    named = queries or {"nvidia.com/gpu": "held"}
    lines = "".join(f"    {name}: {query!r}\n" for name, query in named.items())
    metrics = f"metrics:\n  address: {address}\n  pastUsagePeriod: {period}\n  pastUsage:\n{lines}"
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: fairshare}}]}}]\n{metrics}"
    found = parse_configuration(text, BUILT_IN).metrics
    assert found is not None
    return found


def matrix(*series: tuple[Mapping[str, str], Sequence[tuple[float, object]]]) -> Handler:
    """Series with samples at steps before now."""
    result = [
        {"metric": labels, "values": [[NOW - ago * STEP, str(value)] for ago, value in samples]}
        for labels, samples in series
    ]
    return responds({"status": "success", "data": {"resultType": "matrix", "result": result}})


class Reader:
    def __init__(self, source: MetricsSource, timeout: float = 30.0) -> None:
        self.now = 0.0
        self.ledger: UsageLedger | None = None
        self.feed = ExternalPastUsage(
            source, self._use, clock=lambda: self.now, wall_clock=lambda: NOW + self.now, timeout=timeout
        )

    def _use(self, ledger: UsageLedger) -> None:
        self.ledger = ledger

    async def read(self) -> None:
        """Read once more, after the interval."""
        self.now += self.feed.source.interval
        self.feed.maintain()
        assert self.feed._reading is not None
        await self.feed._reading

    def used(self, queue: str, user: str = "", dimension: int = 3, at: float = NOW) -> float:
        assert self.ledger is not None
        return float(self.ledger.at(at, UsageDecay(), AXIS, len(AXIS)).user(queue, user)[dimension]) / 1000


RED = {"queue": "red"}
SERIES = [
    pytest.param([(3, 2), (2, 2), (1, 2), (0, 2)], 3 * 2 * STEP, id="a constant amount"),
    pytest.param([(3, 2), (2, 4), (1, 1), (0, 0)], 7 * STEP, id="amounts that change"),
    pytest.param([(9, 2), (8, 2), (1, 3), (0, 0)], (2 * 2.001 + 3) * STEP, id="a gap counts for one step"),
    pytest.param([(3, "NaN"), (2, "-1"), (1, 1), (0, "+Inf")], STEP, id="no numbers count as nothing"),
    pytest.param([(2, "1e306"), (1, 0), (0, 0)], 2.0**62 / 1000 * STEP, id="more than any cluster has"),
    pytest.param([(2, 0.5), (1, 0.5), (0, 0.5)], STEP, id="parts of devices"),
    pytest.param([], 0.0, id="no samples"),
]


@pytest.mark.parametrize(("samples", "expected"), SERIES)
async def test_usage_is_the_integral_over_samples(
    samples: list[tuple[float, object]], expected: float, server: HttpService
) -> None:
    server.handlers["/api/v1/query_range"] = matrix((RED, samples))
    reader = Reader(source_of(server.address))
    reader.now = -reader.feed.source.interval
    await reader.read()
    assert reader.used("red") == pytest.approx(expected, rel=1e-3)


async def test_what_is_held_at_last_counts_on_until_the_next_answer(server: HttpService) -> None:
    server.handlers["/api/v1/query_range"] = matrix((RED, [(1, 2), (0, 2)]))
    reader = Reader(source_of(server.address))
    reader.now = -reader.feed.source.interval
    await reader.read()
    assert reader.used("red", at=NOW + 100) == pytest.approx(2 * (STEP + 100), rel=1e-3)


async def test_queries_of_several_resources_count_by_queue_and_user(server: HttpService) -> None:
    def answer(exchange: Exchange) -> None:
        asked = exchange.http_service.received[-1].query
        assert (float(asked["end"]), float(asked["end"]) - float(asked["start"])) == (NOW, 3000.0)
        assert asked["step"] == "15"
        ana, ben = {"queue_name": "red", "user": "ana"}, {"queue_name": "red", "user": "ben"}
        is_cpu = asked["query"] == "cpus"
        matrix((ana, [(1, 4 if is_cpu else 1), (0, 0)]), (ben, [(2, 2), (1, 0), (0, 0)]))(exchange)

    server.handlers["/api/v1/query_range"] = answer
    reader = Reader(source_of(server.address, **{"cpu": "cpus", "nvidia.com/gpu": "gpus"}))
    reader.now = -reader.feed.source.interval
    await reader.read()
    assert (reader.used("red", "ana", 0), reader.used("red", "ana", 3)) == (4 * STEP, STEP)
    assert (reader.used("red", "ben", 0), reader.used("red", "ben", 3)) == (2 * STEP, 2 * STEP)


FAILURES: list[Any] = [
    pytest.param(disconnects, "", id="no response"),
    pytest.param(never_responds, "no response", id="too slow"),
    pytest.param(endless, "", id="too large"),
    pytest.param(responds({"status": "error", "error": "parse error"}, 400), "400", id="an invalid query"),
    pytest.param(responds({"status": "error", "error": "parse error"}), "parse error", id="an error"),
    pytest.param(responds_text(b"<html>"), "unreadable response", id="no JSON"),
    pytest.param(responds({"status": "success", "data": {"resultType": "vector"}}), "vector", id="no range"),
    pytest.param(matrix(({"pod": "a"}, [(0, 1)])), "has no label queue", id="no queue"),
    pytest.param(matrix((RED, [(0, "much")])), "'much' in place of a number", id="no number"),
]


@pytest.mark.parametrize(("handler", "problem"), FAILURES)
async def test_last_answer_counts_while_the_source_fails(
    handler: Handler, problem: str, server: HttpService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "stromboli.usage")
    good = matrix((RED, [(1, 2), (0, 2)]))
    server.handlers["/api/v1/query_range"] = good
    reader = Reader(source_of(server.address), timeout=0.5)
    await reader.read()
    kept = reader.ledger
    server.handlers["/api/v1/query_range"] = handler
    for _ in range(2):
        await reader.read()
    assert reader.ledger is kept
    assert reader.feed.health.problem
    assert problem in reader.feed.health.problem
    server.handlers["/api/v1/query_range"] = good
    await reader.read()
    assert reader.ledger is not kept
    assert [record.message for record in caplog.records] == [
        "past usage unavailable; the last answer counts", "past usage available again",
    ]  # fmt: skip


@pytest.mark.parametrize(("period", "pause"), [("50m", 30.0), ("720h", 259.0)], ids=["interval", "step"])
async def test_source_is_queried_once_in_each_interval_and_step(period: str, pause: float, server: HttpService) -> None:
    server.handlers["/api/v1/query_range"] = matrix((RED, [(0, 2)]))
    reader = Reader(source_of(server.address, period))
    for now, asked in ((0.0, 1), (0.0, 1), (pause - 0.1, 1), (pause, 2), (pause, 2)):
        reader.now = now
        reader.feed.maintain()
        assert reader.feed._reading is not None
        await reader.feed._reading
        assert len(server.asked("query_range")) == asked


class Body:
    """A transport with one response."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def request(self, *_: object, **__: object) -> bytes:
        return self._body


async def test_many_samples_do_not_stop_the_loop() -> None:
    series = {"metric": RED, "values": [[NOW - ago * STEP, "2"] for ago in range(200, 0, -1)]}
    response = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    transport = cast("Transport", Body(msgspec.json.encode(response)))
    reading = asyncio.create_task(PrometheusPastUsage(transport, {"cpu": "held"}, 3000.0).read(NOW))
    await asyncio.sleep(0)
    assert not reading.done()
    assert len(await reading) == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("pastUsage: {gpu: held}", "pastUsage.gpu has no effect: nodes name resources as nvidia.com/gpu"),
        ("pastUsagePeriod: 24h", "pastUsagePeriod has no effect without pastUsage"),
        ("pastUsage: {cpu: ' '}", "pastUsage.cpu is empty; write a query of Prometheus"),
    ],
)
def test_queries_without_effect_are_reported(keys: str, message: str) -> None:
    metrics = f"{{address: 'http://a.test', {keys}}}"
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: fairshare}}]}}]\nmetrics: {metrics}"
    try:
        found = parse_configuration(text, BUILT_IN).warnings
    except ConfigurationError as error:
        found = (str(error),)
    assert found == (f"configuration:3: metrics: {message}",)


def test_other_sources_have_no_past_usage() -> None:
    metrics = "metrics: {type: metrics-server, pastUsage: {cpu: held}}"
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: fairshare}}]}}]\n{metrics}"
    with pytest.raises(ConfigurationError, match="pastUsage is read from prometheus alone"):
        parse_configuration(text, BUILT_IN)
