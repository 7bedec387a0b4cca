"""A cluster on the embedded API server, and commands that read it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES
from stromboli.local.api_server.server import ApiServer
from tests.testing.manifests.builders import Manifest, manifest

INSTALLATION = "stromboli-system"


@dataclass(slots=True)
class LiveServer:
    """The server with its kubeconfig, which is also that of the environment."""

    server: ApiServer
    client: Client
    folder: Path

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    async def apply(self, *documents: Manifest) -> None:
        """Apply objects; the taint of nodes that have not reported yet is removed, as by the controller of nodes."""
        await Applier(self.client).apply([_plain(document) for document in documents])
        for document in documents:
            if document["kind"] == "Node":
                await self.client.patch(NODES, document["metadata"]["name"], {"spec": {"taints": None}})

    async def run(self, *arguments: str, files: Sequence[Manifest] | None = None) -> Result:
        """Run a command, with the files as `-f job.json`."""
        command = list(arguments)
        if files is not None:
            path = self.folder / "job.json"
            path.write_text(json.dumps(list(files)))
            command += ["-f", str(path)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)

    async def report(self, *arguments: str, files: Sequence[Manifest] | None = None) -> dict[str, Any]:
        """Return the JSON of a command."""
        result = await self.run(*arguments, "-o", "json", files=files)
        found: dict[str, Any] = json.loads(result.stdout)
        return found


def _plain(document: Manifest) -> Manifest:
    """Servers make uids and times themselves."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
    return {**document, "metadata": metadata}


def policy(text: str, name: str = "stromboli-scheduler-configmap", namespace: str = INSTALLATION) -> list[Manifest]:
    """The ConfigMap of an installation, with its namespace."""
    return [
        manifest("Namespace", namespace),
        manifest("ConfigMap", name, namespace=namespace, data={"volcano-scheduler.conf": text}),
    ]


@pytest.fixture
async def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveServer]:
    """A server without the CRDs of Volcano."""
    async with ApiServer() as server, Client(server.connection) as client:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield LiveServer(server, client, tmp_path)


@pytest.fixture
async def live(bare: LiveServer) -> LiveServer:
    await install_crds(bare.client)
    return bare
