"""Simulated nodes: documents and creation."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import NODES
from stromboli.kube.objects.cluster import KubeNode

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

SIMULATED = "stromboli.dev/simulated"
"""Label of a node with a simulated kubelet."""

READY = "stromboli.dev/ready"
"""Annotation that makes a simulated node not ready ("false"), or its kubelet unresponsive ("unknown")."""

RACK = "stromboli.dev/rack"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class NodePool:
    """Identical nodes, spread evenly over racks, and the racks over zones."""

    count: int
    prefix: str = "node"
    resources: Mapping[str, str] = field(default_factory=lambda: {"cpu": "16", "memory": "64Gi", "pods": "110"})
    racks: int = 1
    zones: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)


def is_simulated(node: KubeNode) -> bool:
    return (node.metadata.labels or {}).get(SIMULATED) == "true"


def health(node: KubeNode) -> str:
    """The desired status of condition Ready: True, False, or Unknown for an unresponsive kubelet."""
    return {"false": "False", "unknown": "Unknown"}.get((node.metadata.annotations or {}).get(READY, ""), "True")


def address_of(node: str) -> str:
    """A made-up IP address, stable for the name."""
    digest = zlib.crc32(node.encode())
    return f"10.{64 + (digest >> 16) % 64}.{(digest >> 8) % 256}.{digest % 256}"


def node_documents(pool: NodePool) -> list[dict[str, Any]]:
    """The documents of a pool's nodes. Names sort by number: node-000, node-001, ..."""
    width = max(2, len(str(pool.count - 1)))
    return [_document(pool, f"{pool.prefix}-{place:0{width}}", place) for place in range(pool.count)]


def _document(pool: NodePool, name: str, place: int) -> dict[str, Any]:
    rack = place * pool.racks // pool.count
    resources = {"pods": "110", **pool.resources}
    return {
        "metadata": {
            "name": name,
            "labels": {
                SIMULATED: "true",
                HOSTNAME: name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                RACK: f"rack-{rack}",
                ZONE: f"zone-{rack * pool.zones // pool.racks}",
                **pool.labels,
            },
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [{"type": "InternalIP", "address": address_of(name)}, {"type": "Hostname", "address": name}],
            "nodeInfo": _NODE_INFO,
        },
    }


_NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "simulated",
    "osImage": "simulated",
    "containerRuntimeVersion": "simulated://1",
    "kubeletVersion": "simulated",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


async def create_nodes(client: Client, documents: Iterable[Mapping[str, Any]]) -> None:
    """Create nodes; existing ones are not changed."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def create(document: Mapping[str, Any]) -> None:
        async with gate:
            try:
                await client.create(NODES, document)
            except ApiError as error:
                if not error.is_conflict:
                    raise

    await asyncio.gather(*(create(document) for document in documents))
