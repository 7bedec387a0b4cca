"""Probes are answered whatever the scheduler is doing, and each address serves only its own paths."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from stromboli.observability.endpoints import Endpoints
from stromboli.observability.health import Health, Heartbeat, Milestone
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.serving.address import Address, ListenError, parse_address

ANY = "127.0.0.1:0"
CONFIGURATION = {"actions": "enqueue, allocate", "metrics": {"address": "http://me:secret1@db", "password": "secret2"}}


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def endpoints(health: Health) -> Iterator[Endpoints]:
    with Endpoints(
        SchedulerMetrics(), health, metrics_address=ANY, health_address=ANY, configuration=lambda: CONFIGURATION
    ) as running:
        yield running


def ask(address: Address, path: str, method: str = "GET") -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", address.port, timeout=30)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("address", ["metrics", "health"])
@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_healthy_process_responds_ok(endpoints: Endpoints, address: str, path: str) -> None:
    response, text = ask(endpoints.addresses[address], path)
    assert (response.status, text) == (200, "ok\n")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_what_is_not_ready_is_alive(endpoints: Endpoints, health: Health) -> None:
    synced = Milestone("pods have not been listed")
    health.check_ready("cache", synced)
    response, text = ask(endpoints.addresses["health"], "/readyz")
    assert response.status == 500
    assert text == "[+]ping ok\n[-]cache failed: pods have not been listed\ncheck failed\n"
    assert ask(endpoints.addresses["health"], "/livez")[0].status == 200
    synced.reached()
    response, text = ask(endpoints.addresses["health"], "/readyz?verbose")
    assert (response.status, text) == (200, "[+]ping ok\n[+]cache ok\ncheck passed\n")
    synced.lost("the watch of pods ended")
    assert ask(endpoints.addresses["health"], "/readyz")[0].status == 500


def test_a_check_that_breaks_is_a_failed_check(endpoints: Endpoints, health: Health) -> None:
    def broken() -> str | None:
        raise ValueError("oh")

    health.check_alive("loop", broken)
    response, text = ask(endpoints.addresses["health"], "/healthz")
    assert response.status == 500
    assert "[-]loop failed: ValueError: oh" in text


def test_a_heart_that_stops_is_noticed() -> None:
    now = 0.0
    heartbeat = Heartbeat("the scheduling loop", 30, lambda: now)
    now = 30.0
    assert heartbeat() is None
    now = 31.0
    assert heartbeat() == "the scheduling loop has been stuck for 31 s, the limit is 30 s"
    heartbeat.beat()
    assert heartbeat() is None


def test_metrics_are_served_at_one_address_only(endpoints: Endpoints) -> None:
    response, text = ask(endpoints.addresses["metrics"], "/metrics")
    assert response.status == 200
    assert response.headers["Content-Type"].startswith("text/plain")
    assert "stromboli_build_info{" in text
    assert ask(endpoints.addresses["health"], "/metrics")[0].status == 404


def test_the_configuration_is_shown_without_secrets(endpoints: Endpoints) -> None:
    response, text = ask(endpoints.addresses["metrics"], "/configz")
    assert response.status == 200
    assert json.loads(text)["actions"] == "enqueue, allocate"
    assert "secret" not in text
    assert ask(endpoints.addresses["health"], "/configz")[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(endpoints: Endpoints, method: str) -> None:
    assert ask(endpoints.addresses["metrics"], "/metrics", method)[0].status == 405


def test_a_long_thought_is_no_illness(endpoints: Endpoints) -> None:
    """The main thread thinks, as a cycle does, until the probe has been answered elsewhere."""
    answered: list[int] = []
    probe = threading.Thread(
        target=lambda: answered.append(ask(endpoints.addresses["health"], "/healthz")[0].status), daemon=True
    )
    probe.start()
    deadline = time.monotonic() + 30
    while not answered and time.monotonic() < deadline:
        sum(range(10_000))
    probe.join(30)
    assert answered == [200]


def test_address_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match=address):
            Endpoints(SchedulerMetrics(), Health(), metrics_address="", health_address=address).start()


def test_addresses_are_free_after_the_end(health: Health) -> None:
    endpoints = Endpoints(SchedulerMetrics(), health, metrics_address="", health_address=ANY)
    endpoints.start()
    address = endpoints.addresses["health"]
    endpoints.stop()
    endpoints.stop()
    with socket.create_server(("127.0.0.1", address.port), reuse_port=False):
        pass
    assert not any(thread.name == "endpoints" for thread in threading.enumerate())


def test_without_addresses_nothing_listens() -> None:
    with Endpoints(SchedulerMetrics(), Health(), metrics_address="", health_address="") as endpoints:
        assert endpoints.addresses == {}


ADDRESSES: dict[str, Address] = {
    ":8080": Address(None, 8080),
    "127.0.0.1:0": Address("127.0.0.1", 0),
    "[::1]:80": Address("::1", 80),
    "localhost:80": Address("localhost", 80),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses_are_understood(text: str) -> None:
    assert parse_address(text) == ADDRESSES[text]
    assert str(parse_address(text)) == text


@pytest.mark.parametrize("text", ["", "8080", "host:", ":http", ":65536", "::1:80", ":-1", ":٣"])
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address to listen on"):
        parse_address(text)


def test_starting_and_stopping_can_be_repeated() -> None:
    for _ in range(3):
        with Endpoints(SchedulerMetrics(), Health(), metrics_address=ANY, health_address="") as endpoints:
            assert ask(endpoints.addresses["metrics"], "/livez")[0].status == 200
