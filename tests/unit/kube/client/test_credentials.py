"""Credentials are reloaded when they expire, and reach the server."""

import base64
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from aiohttp import web

from stromboli.kube.client.api_errors import Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.credentials import Combined, CredentialsProblem, TokenFile, static_token
from stromboli.kube.client.config.exec_plugin import ExecPlugin, ExecProgram
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.client.config.tls import Trust
from tests.testing.kube.certificate_authority import Authority, Pair

VERSION = "client.authentication.k8s.io/v1"


class Clock:
    """A clock that stands still unless it is advanced."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_token_file_is_reloaded_after_a_minute(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("one\n")
    credentials = TokenFile(str(file), clock)
    seen = []
    for now, content in ((0, "one"), (59, "two"), (61, "two"), (122, "")):
        clock.now = now
        file.write_text(content)
        seen.append((await credentials.headers())["Authorization"])
    assert seen == ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]


async def test_token_file_is_reloaded_after_401(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(str(file))
    await credentials.headers()
    assert not await credentials.renew()
    file.write_text("two")
    assert await credentials.renew()
    assert await credentials.headers() == {"Authorization": "Bearer two"}
    file.unlink()
    assert not await credentials.renew()


async def test_empty_token_file_raises(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" ")
    with pytest.raises(CredentialsProblem, match="is empty; write a token to it"):
        await TokenFile(str(file)).headers()


# -- programs ---------------------------------------------------------------------------------------------------

PLUGIN = """
import json, os, pathlib, sys
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
request = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {"token": f"{os.environ.get('PREFIX', '')}{len(runs.read_text())}"}
if len(sys.argv) > 2:
    status["expirationTimestamp"] = sys.argv[2]
pathlib.Path(sys.argv[1] + ".request").write_text(json.dumps(request))
print(json.dumps({"apiVersion": request["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


def plugin(tmp_path: Path, *arguments: str, **options: Any) -> ExecPlugin:
    script = tmp_path / "plugin.py"
    script.write_text(PLUGIN)
    command = ("-I", str(script), str(tmp_path / "runs"), *arguments)
    return ExecPlugin(ExecProgram(sys.executable, command, **options), Trust())


async def token(credentials: ExecPlugin) -> str:
    return (await credentials.headers())["Authorization"]


async def test_exec_plugin_runs_once(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "2999-01-01T00:00:00Z", environment={"PREFIX": "t"})
    assert [await token(credentials), await token(credentials)] == ["Bearer t1", "Bearer t1"]
    request = json.loads((tmp_path / "runs.request").read_text())
    assert request == {"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": False}}


async def test_expired_credentials_run_exec_plugin_again(tmp_path: Path) -> None:
    credentials = plugin(tmp_path, "2001-01-01T00:00:00Z")
    assert [await token(credentials), await token(credentials)] == ["Bearer 1", "Bearer 2"]


async def test_rejected_credentials_run_exec_plugin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = plugin(tmp_path)
    assert await token(credentials) == "Bearer 1"
    assert await credentials.renew()
    assert await token(credentials) == "Bearer 1", "those refused together share one run"
    monkeypatch.setattr("stromboli.kube.client.config.exec_plugin.MIN_RUN_INTERVAL_SECONDS", 0.0)
    assert await credentials.renew()
    assert await token(credentials) == "Bearer 2"


def script(content: str) -> ExecProgram:
    return ExecProgram(sys.executable, ("-I", "-c", content))


PROBLEMS = [
    (ExecProgram("/nowhere/at-all"), "cannot be run (No such file or directory); install it or correct the command"),
    (ExecProgram("/nowhere/at-all", install_hint="get it"), "cannot be run (No such file or directory); get it"),
    (script("import sys; sys.exit('not logged in')"), "failed with code 1: not logged in; run it by hand"),
    (script("print('{}')"), "did not print an ExecCredential"),
    (
        script('print(\'{"apiVersion": "client.authentication.k8s.io/v1beta1", "status": {}}\')'),
        f"printed client.authentication.k8s.io/v1beta1, not {VERSION}; correct apiVersion in the kubeconfig",
    ),
]


@pytest.mark.parametrize(("program", "words"), PROBLEMS, ids=["missing", "hint", "fails", "mumbles", "another version"])
async def test_failing_exec_plugin(program: ExecProgram, words: str) -> None:
    with pytest.raises(CredentialsProblem) as caught:
        await ExecPlugin(program, Trust()).headers()
    assert words in str(caught.value)


async def test_failed_exec_plugin_is_not_run_for_every_request(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    credentials = ExecPlugin(script(f"open({str(runs)!r}, 'a').write('x'); raise SystemExit(1)"), Trust())
    for _ in range(3):
        with pytest.raises(CredentialsProblem, match="failed with code 1"):
            await credentials.headers()
    assert runs.read_text() == "x"


async def test_endless_exec_plugin_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.kube.client.config.exec_plugin.MAX_RUN_SECONDS", 0.1)
    with pytest.raises(CredentialsProblem, match="did not end within 0 s; run it by hand"):
        await script("import time; time.sleep(60)").run()


# -- the whole way ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def secure_server(context: ssl.SSLContext) -> AsyncIterator[str]:
    """Responds with the name in the client's certificate, and the token."""

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert") or {}
        name = dict(part[0] for part in certificate.get("subject", ())).get("commonName", "")
        if request.headers.get("Authorization") == "Bearer 1":
            return web.Response(status=401)
        return web.json_response([name, request.headers.get("Authorization")])

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def written(tmp_path: Path, server: str, authority: Authority, user: dict[str, Any], **cluster: Any) -> str:
    cluster = {
        "server": server,
        "certificate-authority-data": base64.b64encode(authority.certificate).decode(),
        **cluster,
    }
    document = {
        "clusters": [{"name": "x", "cluster": cluster}],
        "users": [{"name": "x", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "current-context": "x",
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    return str(path)


async def seen(path: str) -> list[str | None]:
    async with Client(load_kubeconfig(path)) as client:
        return msgspec.json.decode(await client.request("GET", "/me"), type=list[str | None])


async def test_certificate_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the kubeconfig, in rotated files, and from a program; combined with a token, and after a 401."""
    authority = Authority()
    context = authority.server_context(authority.issue("kubernetes", "127.0.0.1"), str(tmp_path))

    def inline(pair: Pair) -> dict[str, str]:
        return {
            "client-certificate-data": base64.b64encode(pair.certificate).decode(),
            "client-key-data": base64.b64encode(pair.key).decode(),
        }

    def in_files(pair: Pair) -> dict[str, str]:
        (tmp_path / "cert").write_bytes(pair.certificate)
        (tmp_path / "key").write_bytes(pair.key)
        return {"client-certificate": "cert", "client-key": "key"}

    async with secure_server(context) as server:
        assert await seen(written(tmp_path, server, authority, {})) == ["", None]
        mine = {**inline(authority.issue("me")), "token": "t"}
        assert await seen(written(tmp_path, server, authority, mine)) == ["me", "Bearer t"]

        path = written(tmp_path, server, authority, in_files(authority.issue("first")))
        async with Client(connection := load_kubeconfig(path)) as client:
            assert json.loads(await client.request("GET", "/me"))[0] == "first"
            assert not await connection.credentials.renew()
            in_files(authority.issue("second"))
            assert await connection.credentials.renew()
            assert json.loads(await client.request("GET", "/me"))[0] == "second"


async def test_exec_plugin_with_certificate_and_cluster_info(tmp_path: Path) -> None:
    authority = Authority()
    pair = authority.issue("from-program")
    status = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    answer = json.dumps({"apiVersion": VERSION, "status": status})
    program = (
        f"import os, pathlib; print({answer!r});"
        f"pathlib.Path({str(tmp_path / 'request')!r}).write_text(os.environ['KUBERNETES_EXEC_INFO'])"
    )
    user = {
        "exec": {
            "apiVersion": VERSION,
            "command": sys.executable,
            "args": ["-I", "-c", program],
            "env": [{"name": "A", "value": "b"}],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}
    context = authority.server_context(authority.issue("kubernetes", "127.0.0.1"), str(tmp_path))
    async with secure_server(context) as server:
        assert await seen(written(tmp_path, server, authority, user, extensions=[extension])) == ["from-program", None]
    request = json.loads((tmp_path / "request").read_text())
    assert request["spec"]["cluster"] == {
        "server": server,
        "certificate-authority-data": base64.b64encode(authority.certificate).decode(),
        "config": {"audience": "us"},
    }


async def test_exec_plugin_token_is_renewed_after_401(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.kube.client.config.exec_plugin.MIN_RUN_INTERVAL_SECONDS", 0.0)
    (tmp_path / "plugin.py").write_text(PLUGIN)
    arguments = ["-I", str(tmp_path / "plugin.py"), str(tmp_path / "runs")]
    user = {"exec": {"apiVersion": VERSION, "command": sys.executable, "args": arguments}}
    authority = Authority()
    context = authority.server_context(authority.issue("kubernetes", "127.0.0.1"), str(tmp_path))
    async with secure_server(context) as server:
        assert await seen(written(tmp_path, server, authority, user)) == ["", "Bearer 2"]


async def test_untrusted_server_gets_no_request(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(authority.issue("kubernetes"), str(tmp_path))
    async with secure_server(context) as server:
        path = written(tmp_path, server, authority, {"token": "secret"})
        with pytest.raises(Unreachable, match="certificate verify failed") as caught:
            await seen(path)
        assert not caught.value.sent
        named = written(tmp_path, server, authority, {"token": "t"}, **{"tls-server-name": "kubernetes"})
        assert await seen(named) == ["", "Bearer t"]


async def test_combined_credentials() -> None:
    both = Combined(static_token("t"), Trusting())
    assert await both.headers() == {"Authorization": "Bearer t"}
    assert await both.renew()
    assert both.certificate() is Trusting.context


class Trusting:
    """A certificate that can be renewed."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def headers(self) -> dict[str, str]:
        return {}

    async def renew(self) -> bool:
        return True

    def certificate(self) -> ssl.SSLContext:
        return self.context
