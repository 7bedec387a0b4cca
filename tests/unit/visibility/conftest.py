"""A server for questions, with an API server that reviews people as a table states."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession, web

from stromboli.cluster.dump.contents import Contents
from stromboli.cluster.dump.dump import Dump
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import static_token
from stromboli.planner.live.recorded_cycles import RequestedCycles
from stromboli.visibility.process import AnswerFailed, AnsweringProcess, NotLeading
from stromboli.visibility.questions import Question, VisibilityAnswer
from stromboli.visibility.server import VisibilityServer
from testbed.front_proxy import NAME, front_proxy_certificate

TOKENS = {"token-of-ana": "ana", "token-of-console": "console"}
#: Who may ask about which namespace, or about all.
RIGHTS = {("ana", "team-a"), ("console", "")}


@dataclass
class Asker:
    """Asks the server, and records what it passes on."""

    url: str
    folder: Path
    questions: list[Question]

    async def get(self, path: str, *, headers: Mapping[str, str] | None = None, certificate: str = "") -> Any:
        return await self.send("GET", path, headers=headers, certificate=certificate)

    async def keeps(self, path: str, *, headers: Mapping[str, str], certificate: str = "") -> bool:
        """Report whether the connection stays open after a request."""
        reader, writer = await self._requested(f"GET {path}", headers, certificate)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.3):
                    return await reader.read(1) != b""
            return True
        finally:
            writer.transport.abort()

    async def send_part(self, method: str, path: str, *, headers: Mapping[str, str], length: int) -> Any:
        """Send a request whose body never arrives, and return the status and the document."""
        headers = {**headers, "Content-Length": str(length)}
        reader, writer = await self._requested(f"{method} {path}", headers, "")
        try:
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            return int(head.split()[1]), msgspec.json.decode(body)
        finally:
            writer.transport.abort()

    async def _requested(
        self, line: str, headers: Mapping[str, str], certificate: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self.url.removeprefix("https://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=self._context(certificate))
        lines = [f"{line} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        return reader, writer

    def connection(self, token: str) -> Connection:
        return Connection(self.url, self._context(""), static_token(token))

    def _context(self, certificate: str) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(self.folder / f"{certificate}.crt", self.folder / f"{certificate}.key")
        return context

    async def send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, certificate: str = "",
        body: bytes | None = None,
    ) -> Any:  # fmt: skip
        """Return the status and the document; `certificate` is that of a front proxy in the folder."""
        context = self._context(certificate)
        async with ClientSession() as session, session.request(
            method, f"{self.url}{path}", headers=headers, data=None if body is None else BytesIO(body), ssl=context
        ) as answer:  # fmt: skip
            return answer.status, msgspec.json.decode(await answer.read())


@dataclass
class EchoingProcess(AnsweringProcess):
    """Answers every question with itself, without a process."""

    questions: list[Question] = field(default_factory=list)
    outcome: Callable[[Question], VisibilityAnswer] = field(
        default=lambda question: VisibilityAnswer(result=question.resource)
    )

    async def answer(self, question: msgspec.Struct, dump: Path) -> VisibilityAnswer:
        assert dump.exists()
        self.questions.append(msgspec.json.decode(msgspec.json.encode(question), type=Question))
        return self.outcome(self.questions[-1])


@pytest.fixture
async def reviewing(tmp_path: Path) -> AsyncIterator[str]:
    """An API server with reviews and the configuration of its front proxy."""
    authority, certificate, key = front_proxy_certificate()
    (tmp_path / "proxy.crt").write_bytes(certificate)
    (tmp_path / "proxy.key").write_bytes(key)
    _, foreign, foreign_key = front_proxy_certificate()
    (tmp_path / "foreign.crt").write_bytes(foreign)
    (tmp_path / "foreign.key").write_bytes(foreign_key)
    data = {
        "requestheader-client-ca-file": authority.decode(), "requestheader-allowed-names": f'["{NAME}"]',
        "requestheader-username-headers": '["X-Remote-User"]', "requestheader-group-headers": '["X-Remote-Group"]',
    }  # fmt: skip

    async def token(request: web.Request) -> web.Response:
        user = TOKENS.get((await request.json())["spec"]["token"], "")
        return web.json_response({"status": {"authenticated": bool(user), "user": {"username": user}}})

    async def access(request: web.Request) -> web.Response:
        spec = (await request.json())["spec"]
        assert spec["resourceAttributes"]["group"] == "visibility.stromboli.dev"
        is_allowed = (spec["user"], spec["resourceAttributes"].get("namespace", "")) in RIGHTS
        return web.json_response({"status": {"allowed": is_allowed}})

    async def configuration(request: web.Request) -> web.Response:
        metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
        return web.json_response({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    application = web.Application()
    application.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", token)
    application.router.add_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", access)
    name = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    application.router.add_get(name, configuration)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
def process() -> EchoingProcess:
    return EchoingProcess()


@pytest.fixture
def recorded() -> list[RequestedCycles]:
    """The cycles of the scheduler that leads: the last one."""
    return [RequestedCycles("west")]


@pytest.fixture
async def asker(
    reviewing: str, tmp_path: Path, process: EchoingProcess, recorded: list[RequestedCycles]
) -> AsyncIterator[Asker]:
    def cycles(query: Mapping[str, str]) -> bytes:
        if not recorded:
            raise NotLeading("this scheduler does not lead")
        return recorded[-1].answer(query)

    server = VisibilityServer(
        "127.0.0.1:0", lambda: Connection(reviewing, None), lambda: Dump(Contents(())), process, cycles,
        folder=str(tmp_path),
    )  # fmt: skip
    server.start()
    try:
        yield Asker(f"https://{server.address}", tmp_path, process.questions)
    finally:
        server.stop()


def failing(message: str) -> Callable[[Question], VisibilityAnswer]:
    def fail(question: Question) -> VisibilityAnswer:
        raise AnswerFailed(message)

    return fail
