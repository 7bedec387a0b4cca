"""The real kubectl against an API server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sysconfig
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from testbed.plane import ControlPlane

T = TypeVar("T")

_BINARY = Path(sysconfig.get_path("scripts")) / "kubectl"
_TIMEOUT_SECONDS = 60

_VOLCANO = "/apis/scheduling.volcano.sh/v1beta1"
_COLLECTIONS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Event": "/api/v1/namespaces/{}/events",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{}/pods",
    "PodGroup": _VOLCANO + "/namespaces/{}/podgroups",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "Queue": _VOLCANO + "/queues",
}


class Cluster:
    """A server and a client on the event loop of one thread, so that tests can wait for kubectl processes."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.directory = directory
        self.kubeconfig = plane.kubeconfig
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="client of the server")

    def start(self) -> None:
        self._thread.start()
        self.run(self._start())

    async def _start(self) -> None:
        self.client = await Client(load_kubeconfig(str(self.kubeconfig))).__aenter__()
        await install_crds(self.client)

    def stop(self) -> None:
        self.run(self.client.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the client's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_TIMEOUT_SECONDS)

    def post(self, path: str, body: dict[str, Any]) -> None:
        self.run(self.client.request("POST", path, body=msgspec.json.encode(body)))

    def get(self, path: str) -> Any:
        return msgspec.json.decode(self.run(self.client.request("GET", path)))

    def merge(self, path: str, patch: dict[str, Any]) -> None:
        content = msgspec.json.encode(patch)
        kind = "application/merge-patch+json"
        self.run(self.client.request("PATCH", path, body=content, content_type=kind))

    def remove(self, path: str) -> None:
        self.run(self.client.request("DELETE", path, body=b'{"gracePeriodSeconds":0}'))


class Failed(AssertionError):
    """kubectl failed."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl in one namespace. A call returns its output, without the padding of tables."""

    cluster: Cluster
    namespace: str

    def __call__(self, *words: str, stdin: str | dict[str, Any] = "", **variables: str) -> str:
        """Run to the end; raises `Failed` with its output on failure."""
        done = self.attempt(*words, stdin=stdin, **variables)
        if done.returncode != 0:
            raise Failed(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def attempt(
        self, *words: str, stdin: str | dict[str, Any] = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        text = stdin if isinstance(stdin, str) else msgspec.json.encode(stdin).decode()
        return subprocess.run(
            self._command(words),
            input=text,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            env={**self._environment(), **variables},
            check=False,
        )

    def refusal(self, *words: str, stdin: str | dict[str, Any] = "") -> str:
        """The output of a kubectl command that is expected to fail."""
        done = self.attempt(*words, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(words)} worked: {done.stdout}"
        return done.stderr.strip()

    def patiently(self, *words: str) -> str:
        """The output once the command succeeds: a server needs a moment to describe a new kind."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while (done := self.attempt(*words)).returncode != 0:
            if time.monotonic() > deadline:
                raise Failed(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def rows(self, *words: str) -> list[list[str]]:
        """The cells of a table, without its header."""
        return [line.split() for line in self(*words).splitlines()[1:]]

    def json(self, *words: str) -> Any:
        return msgspec.json.decode(self(*words, "-o", "json"))

    def given(self, *manifests: dict[str, Any]) -> None:
        """Objects that exist before the test, created without kubectl."""
        for manifest in manifests:
            self.cluster.post(_COLLECTIONS[manifest["kind"]].format(self.namespace), manifest)

    def path(self, kind: str, name: str) -> str:
        return f"{_COLLECTIONS[kind].format(self.namespace)}/{name}"

    def stored(self, kind: str, name: str) -> Any:
        """An object as stored by the server."""
        return self.cluster.get(self.path(kind, name))

    def bind(self, name: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.cluster.post(f"{self.path('Pod', name)}/binding", {"metadata": {"name": name}, "target": target})

    @contextmanager
    def running(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run in the background while the test reads its output; stopped by the test or by a time-out."""
        process = subprocess.Popen(
            self._command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._environment()
        )
        timer = threading.Timer(_TIMEOUT_SECONDS, process.kill)
        timer.start()
        try:
            with process:
                try:
                    yield process
                finally:
                    process.terminate()
        finally:
            timer.cancel()
            timer.join()

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [str(_BINARY), "--namespace", self.namespace, *words]

    def _environment(self) -> dict[str, str]:
        home = str(self.cluster.directory)
        return {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "KUBECONFIG": str(self.cluster.kubeconfig)}
