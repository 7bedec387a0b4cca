"""Credentials from an exec plugin, as cloud providers issue short-lived tokens.

The program runs when there are no credentials yet, when they have expired, and after a 401. It has no terminal and a
limited time, and its output must have the requested version.
"""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from stromboli.kube.client.config.credentials import CredentialsProblem
from stromboli.kube.client.config.kubeconfig_entries import KubeconfigEntry
from stromboli.kube.client.config.tls import Trust
from stromboli.kube.manifests.errors import printable

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXTENSION = "client.authentication.k8s.io/exec"
MAX_RUN_SECONDS = 60.0
EXPIRES_EARLY_SECONDS = 10.0
"""A token is replaced this long before it expires, so that none expires on its way to the server."""
MIN_RUN_INTERVAL_SECONDS = 5.0
"""Minimum seconds between two runs: requests that fail together share one run."""


class _ExecCredentialStatus(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    status: _ExecCredentialStatus


@dataclass(frozen=True, slots=True)
class ExecProgram:
    """The command to run, its environment and its input."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    version: str = VERSIONS[0]
    install_hint: str = ""
    #: Cluster details for the program; None unless provideClusterInfo is set.
    cluster: Mapping[str, Any] | None = None

    async def run(self) -> _ExecCredentialStatus:
        """Raises CredentialsProblem."""
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.arguments,
                env={**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": self._request()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {self.install_hint.strip()}" if self.install_hint else "; install it or correct the command"
            raise self._problem(f"cannot be run ({error.strerror}){hint}") from None
        return self._understood(await self._output(process))

    async def _output(self, process: asyncio.subprocess.Process) -> bytes:
        try:
            async with asyncio.timeout(MAX_RUN_SECONDS):
                output, complaints = await process.communicate()
        except TimeoutError:
            raise self._problem(f"did not end within {MAX_RUN_SECONDS:.0f} s; run it by hand") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            message = printable(complaints.decode("utf-8", "replace").strip())
            raise self._problem(f"failed with code {process.returncode}: {message}; run it by hand")
        return output

    def _understood(self, output: bytes) -> _ExecCredentialStatus:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._problem(f"did not print an ExecCredential ({error}); run it by hand") from None
        if answer.api_version != self.version:
            message = f"printed {answer.api_version}, not {self.version}; correct apiVersion in the kubeconfig"
            raise self._problem(message)
        return answer.status

    def _request(self) -> str:
        spec: dict[str, Any] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        request = {"apiVersion": self.version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(request).decode()

    def _problem(self, message: str) -> CredentialsProblem:
        return CredentialsProblem(f"exec plugin {self.command}: {message}")


class ExecPlugin:
    """Credentials from a program, kept until they expire."""

    def __init__(self, program: ExecProgram, trust: Trust) -> None:
        self._program = program
        self._trust = trust
        self._status: _ExecCredentialStatus | None = None
        self._context: ssl.SSLContext | None = None
        self._ran_at = float("-inf")
        self._problem: CredentialsProblem | None = None
        self._running = asyncio.Lock()

    async def headers(self) -> Mapping[str, str]:
        async with self._running:
            status = self._status
            if status is None or _expired(status):
                status = await self._run()
        return {"Authorization": f"Bearer {status.token}"} if status.token else {}

    async def renew(self) -> bool:
        async with self._running:
            if time.monotonic() - self._ran_at >= MIN_RUN_INTERVAL_SECONDS:
                await self._run()
        return True

    def certificate(self) -> ssl.SSLContext | None:
        return self._context

    async def _run(self) -> _ExecCredentialStatus:
        if self._problem is not None and time.monotonic() - self._ran_at < MIN_RUN_INTERVAL_SECONDS:
            raise self._problem
        try:
            self._status, self._problem = await self._obtain(), None
        except CredentialsProblem as problem:
            self._problem = problem
            raise
        finally:
            self._ran_at = time.monotonic()
        return self._status

    async def _obtain(self) -> _ExecCredentialStatus:
        status = await self._program.run()
        if status.client_certificate_data and status.client_key_data:
            pair = status.client_certificate_data.encode(), status.client_key_data.encode()
            try:
                self._context = self._trust.with_certificate(*pair)
            except ValueError as error:
                raise CredentialsProblem(f"exec plugin {self._program.command}: {error}; run it by hand") from None
        return status


def exec_plugin(entry: KubeconfigEntry, cluster: KubeconfigEntry, trust: Trust) -> ExecPlugin:
    """Build the plugin that a kubeconfig describes. Raises ConnectionProblem."""
    version = entry.text("apiVersion", required=True)
    if version not in VERSIONS:
        raise entry.problem("apiVersion", f"{version!r} is not supported", f"write one of {', '.join(VERSIONS)}")
    if entry.text("interactiveMode") == "Always":
        raise entry.problem("interactiveMode", "no terminal is available", "write IfAvailable or Never")
    program = ExecProgram(
        command=_command(entry),
        arguments=tuple(_arguments(entry)),
        environment=_environment(entry),
        version=version,
        install_hint=entry.text("installHint"),
        cluster=_cluster_details(cluster, trust) if entry.flag("provideClusterInfo") else None,
    )
    return ExecPlugin(program, trust)


def _command(entry: KubeconfigEntry) -> str:
    """A path is relative to the kubeconfig; a bare name is searched in PATH."""
    command = entry.text("command", required=True)
    return str(Path(entry.source).parent / command) if os.sep in command else command


def _arguments(entry: KubeconfigEntry) -> list[str]:
    arguments = entry.fields.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise entry.problem("args", "expected a list of strings", "write a list, one item per dash")
    return arguments


def _environment(entry: KubeconfigEntry) -> dict[str, str]:
    listed = entry.fields.get("env") or []
    try:
        return {str(item["name"]): str(item["value"]) for item in listed}
    except (TypeError, KeyError):
        raise entry.problem("env", "expected a list of names and values", "write - {name: A, value: b}") from None


def _cluster_details(cluster: KubeconfigEntry, trust: Trust) -> dict[str, Any]:
    details: dict[str, Any] = {"server": cluster.text("server"), "config": _extension(cluster)}
    details |= {field: cluster.text(field) for field in ("tls-server-name", "proxy-url")}
    details["insecure-skip-tls-verify"] = trust.insecure
    details["certificate-authority-data"] = base64.b64encode(trust.authorities).decode()
    return {field: value for field, value in details.items() if value}


def _extension(cluster: KubeconfigEntry) -> object:
    """The extension of the cluster entry for exec plugins, unchanged."""
    extensions = cluster.fields.get("extensions") or []
    named = (item for item in extensions if isinstance(item, Mapping) and item.get("name") == EXTENSION)
    return next((item.get("extension") for item in named), None)


def _expired(status: _ExecCredentialStatus) -> bool:
    if status.expiration_timestamp is None:
        return False
    left = status.expiration_timestamp - datetime.now(UTC)
    return left.total_seconds() < EXPIRES_EARLY_SECONDS
