"""Node usage is collected from its sources, and no cycle waits for a slow source."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.nodes.usage import Usage
from stromboli.core.session.program import Program
from stromboli.external.usage_feed import UsageFeed
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from tests.testing.cases.case import BUILT_IN
from tests.testing.kube.certificate_authority import Authority
from tests.unit.external.http_service import (
    Exchange,
    Handler,
    HttpService,
    disconnects,
    dripping,
    endless,
    http_service,
    never_responds,
    responds,
    responds_text,
)

NOON = 1_772_366_400.0  # 2026-03-01T12:00:00Z


@pytest.fixture
def server() -> Iterator[HttpService]:
    with http_service() as service:
        yield service


def program(metrics: str, plugins: str = "[{name: usage}]") -> Program:
    text = f"actions: allocate\ntiers: [{{plugins: {plugins}}}]\nmetrics: {metrics}"
    return Program(parse_configuration(text, BUILT_IN), BUILT_IN)


class Reported:
    """The reports of a feed, and a way to run it once more."""

    def __init__(self, metrics: str, api: str = "http://127.0.0.1:1", *, plugins: str = "[{name: usage}]",
                 timeout: float = 30.0) -> None:  # fmt: skip
        self.now = 0.0
        self.program = program(metrics, plugins)
        self.figures: list[Mapping[str, Usage]] = []
        self.nodes = {"a", "b"}
        self._client = Client(Connection(api, None), timeout=30)
        self.feed = UsageFeed(self._client, lambda: self.program, self._report, clock=lambda: self.now, timeout=timeout)

    def _report(self, figures: Mapping[str, Usage]) -> int:
        self.figures.append(figures)
        return len(self.nodes & figures.keys())

    async def collect_if_due(self) -> Mapping[str, Usage] | None:
        """Run the feed once; return its latest report."""
        await self.feed.collect_if_due()
        return self.figures[-1] if self.figures else None

    async def close(self) -> None:
        await self.feed._close()
        await self._client.close()

    async def __aenter__(self) -> Reported:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# -- Prometheus -------------------------------------------------------------------------------------------------------


def vector(*samples: tuple[Mapping[str, str], str]) -> dict[str, Any]:
    result = [{"metric": labels, "value": [NOON, value]} for labels, value in samples]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def prometheus(cpu: Any, memory: Any, seen: Any) -> Handler:
    """Responses by topic of the query."""

    def answer(exchange: Exchange) -> None:
        question = exchange.http_service.received[-1].query["query"]
        chosen = cpu if "cpu_seconds" in question else seen if "timestamp" in question else memory
        responds(chosen)(exchange)

    return answer


A, B = {"node": "a", "instance": "10.0.0.1:9100"}, {"instance": "b:9100"}
HALF = vector((A, "0.5"), (B, "0.25"))
SEEN = vector((A, str(NOON)), (B, str(NOON - 100)))


async def test_prometheus_query_covers_all_nodes(server: HttpService) -> None:
    server.handlers["/api/v1/query"] = prometheus(HALF, vector((A, "0.1"), (B, "0.2")), SEEN)
    async with Reported(f"{{address: '{server.address}/'}}") as reported:
        assert await reported.collect_if_due() == {"a": Usage(0.5, 0.1, NOON), "b": Usage(0.25, 0.2, NOON - 100)}
    assert len(server.received) == 3
    assert all("[600s]" in each.query["query"] for each in server.received if "timestamp" not in each.query["query"])


WINDOWS = [
    ("[{name: rescheduling, arguments: {metricsPeriod: 90s}}]", "90s"),
    ("[{name: usage, arguments: {thresholds: {CPUUsageAvg.5m: 80}}}]", "300s"),
    ("[{name: usage}, {name: rescheduling}]", "600s"),
]


@pytest.mark.parametrize(("plugins", "window"), WINDOWS, ids=[window for _, window in WINDOWS])
async def test_window_is_that_of_the_plugins(server: HttpService, plugins: str, window: str) -> None:
    server.handlers["/api/v1/query"] = prometheus(HALF, HALF, SEEN)
    async with Reported(f"{{address: '{server.address}'}}", plugins=plugins) as reported:
        await reported.collect_if_due()
    assert any(f"[{window}]" in each.query["query"] for each in server.received)


async def test_invalid_figures_are_left_out(server: HttpService) -> None:
    c = {"node": "c"}
    cpu, memory = vector((A, "NaN"), (B, "0.5"), (c, "0.5")), vector((A, "0.5"), (B, "0.5"))
    server.handlers["/api/v1/query"] = prometheus(cpu, memory, vector((A, str(NOON)), (B, str(NOON)), (c, str(NOON))))
    async with Reported(f"{{address: '{server.address}'}}") as reported:
        assert await reported.collect_if_due() == {"b": Usage(0.5, 0.5, NOON)}


async def test_unknown_node_names_are_reported(server: HttpService) -> None:
    c = {"instance": "10.0.0.1:9100"}
    figures = vector((c, "0.5"))
    server.handlers["/api/v1/query"] = prometheus(figures, figures, vector((c, str(NOON))))
    async with Reported(f"{{address: '{server.address}', interval: 1s}}") as reported:
        await reported.collect_if_due()
        message = "none of 1 names is a node name, for example '10.0.0.1'; label samples with node names"
        assert reported.feed.health.problem == message
        nothing = vector()
        server.handlers["/api/v1/query"], reported.now = prometheus(nothing, nothing, nothing), 9.0
        await reported.collect_if_due()
        assert reported.feed.health.problem == "the source has no figures"


async def test_node_without_last_sample_has_no_figure(server: HttpService) -> None:
    server.handlers["/api/v1/query"] = prometheus(HALF, HALF, vector((B, str(NOON))))
    async with Reported(f"{{address: '{server.address}'}}") as reported:
        assert await reported.collect_if_due() == {"b": Usage(0.25, 0.25, NOON)}


# -- through the API server -------------------------------------------------------------------------------------------


async def test_metrics_server_is_queried_through_api_server(server: HttpService) -> None:
    node = {"metadata": {"name": "a"}, "timestamp": "2026-03-01T12:00:00Z", "usage": {"cpu": "1500m", "memory": "2Gi"}}
    fresh = {"metadata": {"name": "b"}, "timestamp": None, "usage": {}}
    server.handlers["/apis/metrics.k8s.io/v1beta1/nodes"] = responds({"metadata": {}, "items": [node, fresh]})
    async with Reported("{type: metrics-server}", server.address) as reported:
        assert await reported.collect_if_due() == {"a": Usage(1500, 2 << 30, NOON, in_parts=False)}


async def test_adaptor_is_queried_for_volcano_metrics(server: HttpService) -> None:
    def values(part: str) -> Handler:
        described = {"describedObject": {"kind": "Node", "name": "a"}, "timestamp": "2026-03-01T12:00:00Z"}
        return responds({"items": [{**described, "metricName": "x", "value": part}]})

    path = "/apis/custom.metrics.k8s.io/v1beta1/nodes/*/"
    server.handlers = {f"{path}node_cpu_usage_avg": values("125m"), f"{path}node_memory_usage_avg": values("0.5")}
    async with Reported("{type: prometheus_adaptor}", server.address) as reported:
        assert await reported.collect_if_due() == {"a": Usage(0.125, 0.5, NOON)}


# -- Elasticsearch ----------------------------------------------------------------------------------------------------


async def test_elasticsearch_is_queried_once(server: HttpService, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("open sesame\n")
    bucket = {"key": "a", "cpu": {"value": 0.5}, "memory": {"value": 0.25}, "seen": {"value": NOON * 1000}}
    empty = {"key": "b", "cpu": {"value": None}, "memory": {"value": 0.25}, "seen": {"value": NOON * 1000}}
    server.handlers["/mine/_search"] = responds({"aggregations": {"nodes": {"buckets": [bucket, empty]}}})
    conf = (f"{{type: elasticsearch, address: '{server.address}', elasticsearch: "
            f"{{index: mine, username: me, passwordFile: '{secret}', hostnameFieldName: host.name}}}}")  # fmt: skip
    async with Reported(conf) as reported:
        assert await reported.collect_if_due() == {"a": Usage(0.5, 0.25, NOON)}
    [asked] = server.received
    assert asked.headers["Authorization"] == "Basic bWU6b3BlbiBzZXNhbWU="
    assert asked.body["aggs"]["nodes"]["terms"]["field"] == "host.name"
    assert asked.body["query"] == {"range": {"@timestamp": {"gte": "now-600s"}}}


# -- trouble ----------------------------------------------------------------------------------------------------------

TROUBLE: list[tuple[str, Handler, str]] = [
    ("an error of the server", responds({"error": "no"}, 500), "500"),
    ("a refusal", responds({}, 403), "403"),
    ("no JSON", responds_text(b"<html>"), "unreadable response from Prometheus"),
    ("other JSON", responds([1, 2]), "unreadable response from Prometheus"),
    ("error response", responds({"status": "error", "error": "parse error"}), "query failed: parse error"),
    ("no number", responds(vector((A, "much"))), "unreadable response from Prometheus"),
    ("closed connection", disconnects, ""),
    ("a larger answer than fits", endless, "larger than 32 MiB"),
    ("redirect", responds_text(b"", 302, Location="http://127.0.0.1:1/"), "302"),
]


@pytest.mark.parametrize(("handler", "message"), [row[1:] for row in TROUBLE], ids=[row[0] for row in TROUBLE])
async def test_failure_is_reported_and_figures_are_kept(server: HttpService, handler: Handler, message: str) -> None:
    good = prometheus(HALF, HALF, SEEN)
    server.handlers["/api/v1/query"] = good
    async with Reported(f"{{address: '{server.address}', interval: 10s}}") as reported:
        await reported.collect_if_due()
        server.handlers["/api/v1/query"], reported.now = handler, 20.0
        await reported.collect_if_due()
        assert len(reported.figures) == 1
        assert reported.feed.health.problem
        assert message in reported.feed.health.problem
        server.handlers["/api/v1/query"], reported.now = good, 40.0
        await reported.collect_if_due()
        assert (len(reported.figures), reported.feed.health.problem) == (2, "")


@pytest.mark.parametrize("handler", [never_responds, dripping])
async def test_slow_source_times_out(server: HttpService, handler: Handler) -> None:
    server.handlers["/api/v1/query"] = handler
    began = time.monotonic()
    async with Reported(f"{{address: '{server.address}'}}", timeout=0.05) as reported:
        assert await reported.collect_if_due() is None
        assert "0.05 s" in reported.feed.health.problem or "in time" in reported.feed.health.problem
    assert time.monotonic() - began < 25


async def test_failure_is_logged_once(server: HttpService, caplog: pytest.LogCaptureFixture) -> None:
    server.handlers["/api/v1/query"] = responds({}, 500)
    async with Reported(f"{{address: '{server.address}', interval: 1s}}") as reported:
        with caplog.at_level(logging.INFO, "stromboli.usage"):
            for reported.now in (0.0, 2.0, 4.0):
                await reported.collect_if_due()
            server.handlers["/api/v1/query"], reported.now = prometheus(HALF, HALF, SEEN), 6.0
            await reported.collect_if_due()
    failed, recovered = caplog.records
    assert failed.getMessage() == "node usage metrics unavailable"
    assert vars(failed)["error"].startswith("500")
    assert recovered.getMessage() == "node usage metrics available again"


async def test_redirect_is_not_followed(server: HttpService) -> None:
    with http_service() as other:
        other.handlers["/api/v1/query"] = prometheus(HALF, HALF, SEEN)
        server.handlers["/api/v1/query"] = responds_text(b"", 307, Location=f"{other.address}/api/v1/query")
        async with Reported(f"{{address: '{server.address}'}}") as reported:
            assert await reported.collect_if_due() is None
        assert other.received == []


# -- when it asks -----------------------------------------------------------------------------------------------------


async def test_source_is_queried_once_per_interval(server: HttpService) -> None:
    server.handlers["/api/v1/query"] = prometheus(HALF, HALF, SEEN)
    async with Reported(f"{{address: '{server.address}', interval: 10s}}") as reported:
        for reported.now in (0.0, 5.0, 9.9, 10.0, 15.0):
            await reported.collect_if_due()
        assert len(reported.figures) == 2


@pytest.mark.parametrize(
    ("metrics", "plugins"),
    [("", "[{name: usage}]"), ("{address: 'ADDRESS'}", "[{name: gang}]")],
    ids=["no source", "no reader"],
)
async def test_no_source_is_queried_without_reader(server: HttpService, metrics: str, plugins: str) -> None:
    async with Reported(metrics.replace("ADDRESS", server.address), plugins=plugins) as reported:
        assert await reported.collect_if_due() is None
    assert server.received == []


async def test_plugin_without_metrics_source_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async with Reported("") as reported:
        with caplog.at_level(logging.INFO, "stromboli.usage"):
            await reported.collect_if_due()
            await reported.collect_if_due()
            assert reported.feed.health.problem == "the configuration has no metrics"
            reported.program = program("", "[{name: gang}]")
            await reported.collect_if_due()
    assert reported.feed.health.problem == ""
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["error"]) == (
        "node usage metrics unavailable", "the configuration has no metrics"
    )  # fmt: skip


async def test_changed_configuration_applies_at_once(server: HttpService) -> None:
    server.handlers["/api/v1/query"] = responds({}, 500)
    async with Reported(f"{{address: '{server.address}/old', interval: 1h}}") as reported:
        await reported.collect_if_due()
        server.handlers["/api/v1/query"] = prometheus(HALF, HALF, SEEN)
        reported.program = program(f"{{address: '{server.address}/new', interval: 1h}}")
        assert await reported.collect_if_due()
    assert server.asked()[-1].path == "/new/api/v1/query"


# -- encryption -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.mark.parametrize(
    ("tls", "works"), [("caFile: CA", True), ("caFile: ''", False), ("insecureSkipVerify: true", True)],
    ids=["the authority is known", "it is not", "verification disabled"],
)  # fmt: skip
async def test_server_certificate_is_verified(authority: Authority, tmp_path: Path, tls: str, works: bool) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(authority.certificate)
    context = authority.server_context(authority.issue("localhost", "127.0.0.1"), str(tmp_path))
    with http_service(context) as service:
        service.handlers["/api/v1/query"] = prometheus(HALF, HALF, SEEN)
        conf = f"{{address: '{service.address}', tls: {{{tls.replace('CA', repr(str(bundle)))}}}}}"
        async with Reported(conf) as reported:
            assert bool(await reported.collect_if_due()) is works
            assert bool(reported.feed.health.problem) is not works


async def test_missing_file_is_named(server: HttpService) -> None:
    conf = "{address: 'https://127.0.0.1:1', tls: {caFile: /nowhere/ca.pem}}"
    async with Reported(conf) as reported:
        assert await reported.collect_if_due() is None
        assert reported.feed.health.problem == "/nowhere/ca.pem: No such file or directory"
