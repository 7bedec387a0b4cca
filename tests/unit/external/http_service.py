"""A real HTTP server for tests, with scripted responses."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class ReceivedRequest:
    """A received request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Handler = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request; the handler of the service decides the response."""

    protocol_version = "HTTP/1.1"
    #: Head and body of a response are sent together.
    wbufsize = 1 << 16
    http_service: HttpService

    def log_message(self, *_: Any) -> None:
        """Suppress logging."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        address = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        body = json.loads(content) if content else None
        self.http_service.received.append(ReceivedRequest(self.command, address.path, query, dict(self.headers), body))
        with contextlib.suppress(OSError):
            self.http_service.handler_for(address.path)(self)

    def send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@dataclass
class HttpService:
    address: str = ""
    received: list[ReceivedRequest] = field(default_factory=list)
    #: Handlers of requests, by the end of the path.
    handlers: dict[str, Handler] = field(default_factory=dict)
    #: Set at the end of the test, so that slow handlers stop.
    over: threading.Event = field(default_factory=threading.Event)

    def handler_for(self, path: str) -> Handler:
        return next((handler for end, handler in self.handlers.items() if path.endswith(end)), gone)

    def asked(self, end: str = "") -> list[ReceivedRequest]:
        return [each for each in self.received if each.path.endswith(end)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that disconnect."""


@contextlib.contextmanager
def http_service(context: ssl.SSLContext | None = None) -> Iterator[HttpService]:
    """Run a server during the block."""
    service = HttpService()
    handler = type("Handler", (Exchange,), {"http_service": service})
    server = _Server(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    service.address = f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


# -- handlers ---------------------------------------------------------------------------------------------------------


def responds(answer: object, status: int = 200) -> Handler:
    return lambda exchange: exchange.send(json.dumps(answer).encode(), status)


def responds_text(text: bytes, status: int = 200, **headers: str) -> Handler:
    return lambda exchange: exchange.send(text, status, **headers)


def gone(exchange: Exchange) -> None:
    exchange.send(b"no handler", 404)


def never_responds(exchange: Exchange) -> None:
    """Accept the request and never respond."""
    exchange.http_service.over.wait(60)
    exchange.close_connection = True


def disconnects(exchange: Exchange) -> None:
    exchange.close_connection = True


def endless(exchange: Exchange) -> None:
    """Send more than the size limit."""
    exchange.send_response(200)
    exchange.end_headers()
    while not exchange.http_service.over.is_set():
        exchange.wfile.write(b" " * 65536)
    exchange.close_connection = True


def dripping(exchange: Exchange) -> None:
    """Send a byte now and then, so that the response never ends."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "1000")
    exchange.end_headers()
    while not exchange.http_service.over.wait(0.02):
        exchange.wfile.write(b" ")
        exchange.wfile.flush()
    exchange.close_connection = True
