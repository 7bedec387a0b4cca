"""Somebody outside: a real HTTP server of the test's own, that answers as it is told, well or badly."""

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
class Heard:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Manner = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request; the stranger's manners decide what becomes of it."""

    protocol_version = "HTTP/1.1"
    #: Head and body of an answer go out together.
    wbufsize = 1 << 16
    stranger: Stranger

    def log_message(self, *_: Any) -> None:
        """Strangers are silent."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        address = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        body = json.loads(content) if content else None
        self.stranger.heard.append(Heard(self.command, address.path, query, dict(self.headers), body))
        with contextlib.suppress(OSError):
            self.stranger.manner_for(address.path)(self)

    def send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@dataclass
class Stranger:
    address: str = ""
    heard: list[Heard] = field(default_factory=list)
    #: By the end of a path, how requests there are answered.
    manners: dict[str, Manner] = field(default_factory=dict)
    #: Set when the test is over: whoever is slow then gives up.
    over: threading.Event = field(default_factory=threading.Event)

    def manner_for(self, path: str) -> Manner:
        return next((manner for end, manner in self.manners.items() if path.endswith(end)), gone)

    def asked(self, end: str = "") -> list[Heard]:
        return [each for each in self.heard if each.path.endswith(end)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Whoever hangs up on us is not worth a word."""


@contextlib.contextmanager
def stranger(context: ssl.SSLContext | None = None) -> Iterator[Stranger]:
    """A server that lives as long as the block."""
    person = Stranger()
    handler = type("Handler", (Exchange,), {"stranger": person})
    server = _Server(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    person.address = f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield person
    finally:
        person.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


# -- manners ----------------------------------------------------------------------------------------------------------


def says(answer: object, status: int = 200) -> Manner:
    return lambda exchange: exchange.send(json.dumps(answer).encode(), status)


def says_text(text: bytes, status: int = 200, **headers: str) -> Manner:
    return lambda exchange: exchange.send(text, status, **headers)


def gone(exchange: Exchange) -> None:
    exchange.send(b"nobody is here", 404)


def silent(exchange: Exchange) -> None:
    """Takes the request and never answers."""
    exchange.stranger.over.wait(60)
    exchange.close_connection = True


def hangs_up(exchange: Exchange) -> None:
    exchange.close_connection = True


def endless(exchange: Exchange) -> None:
    """Sends more than anybody wants to read."""
    exchange.send_response(200)
    exchange.end_headers()
    while not exchange.stranger.over.is_set():
        exchange.wfile.write(b" " * 65536)
    exchange.close_connection = True


def dripping(exchange: Exchange) -> None:
    """Sends a byte now and then, so that there is always something to hope for."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "1000")
    exchange.end_headers()
    while not exchange.stranger.over.wait(0.02):
        exchange.wfile.write(b" ")
        exchange.wfile.flush()
    exchange.close_connection = True
