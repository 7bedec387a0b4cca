"""The certificate of an address: plain HTTP, in memory, or from files; and limits on connections of every scheme."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from stromboli.serving.address import Address
from stromboli.serving.certificates import make_certificates
from stromboli.serving.listener import Listener
from stromboli.serving.tls import Certificate, InvalidCertificate, SelfSigned, TlsSettings
from stromboli.serving.web_server import WebServer

LOOPBACK, EXPOSED = Address("127.0.0.1", 0), Address(None, 0)

SCHEMES: dict[str, tuple[str, Address, type | None]] = {
    "a loopback address is plain": ("auto", LOOPBACK, None),
    "an exposed address is encrypted": ("auto", EXPOSED, SelfSigned),
    "encryption of a loopback address is a choice": ("https", LOOPBACK, SelfSigned),
    "plain HTTP is a choice": ("http", EXPOSED, None),
}


@pytest.mark.parametrize("title", SCHEMES)
def test_scheme_follows_address_and_choice(title: str) -> None:
    scheme, address, expected = SCHEMES[title]
    made = TlsSettings(scheme).certificate(address)
    assert type(made) is (expected or type(None))


def test_files_replace_the_certificate_in_memory(tmp_path: Path) -> None:
    made = make_certificates()
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    assert isinstance(TlsSettings("auto", str(certificate), str(key)).certificate(EXPOSED), Certificate)
    key.unlink()
    with pytest.raises(InvalidCertificate, match=r"tls\.key\" does not exist"):
        TlsSettings("auto", str(certificate), str(key)).certificate(EXPOSED)


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        yield connection


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_server_answers_and_closes_unfinished_headers(scheme: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.scheme)

    application = web.Application()
    application.router.add_get("/", answer)
    server, certificate = (
        WebServer(application, Listener(header_seconds=0.2)),
        TlsSettings(scheme).certificate(LOOPBACK),
    )
    context = certificate.context if certificate else None
    address = await server.start(LOOPBACK, context)
    try:
        with connected(address.port) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n" if context is None else b"")
            async with aiohttp.ClientSession() as session, session.get(f"{scheme}://{address}/", ssl=False) as found:
                assert await found.text() == scheme
            slow.setblocking(False)
            assert await _until_closed(slow) == b""
        if context is not None:
            assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    finally:
        await server.stop()


async def _until_closed(connection: socket.socket) -> bytes:
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(connection, 1), 30)
    return b""
