"""Objects of files, Python objects, dumps and living clusters, with the settings of their scheduler."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.controllers.jobs.plugins.registry import installed_plugins
from stromboli.core.model.nodes.node_selector import read_node_selector
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.core.model.tasks.selector_text import read_selector
from stromboli.kube import KubeObject
from stromboli.kube.client.api_errors import ApiError, Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.manifests.manifests import DEFAULT_NAMESPACE, Manifests
from stromboli.planner.live.errors import ClusterError
from stromboli.planner.live.installation import InstallationName, RunningScheduler, find_scheduler
from stromboli.planner.live.listing import ClusterObjects, list_objects
from stromboli.planner.live.references import find_reference, read_config_maps
from stromboli.workloads.expander import ClusterBeside
from stromboli.workloads.queues import DEFAULT_QUEUE
from stromboli.workloads.reading import read_with_workloads
from stromboli.workloads.templates import Kind

T = TypeVar("T")

#: A path, the text of manifests, an object as a mapping, or several of them.
JobSource = str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """The settings of a scheduler that plans depend on."""

    scheduler_names: Sequence[str] = SCHEDULER_NAMES
    seed: int = 0
    shard: ShardChoice | None = None
    default_queue: str = DEFAULT_QUEUE
    node_selector: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of_scheduler(cls, running: RunningScheduler) -> PlanSettings:
        """Return those of a running scheduler. Raises ValueError for options that it would reject itself."""
        seed, mode = running.option("--seed") or "", running.option("--scheduler-sharding-mode") or "none"
        name, selector = running.option("--scheduler-sharding-name") or "", running.option("--shard-selector")
        chosen = read_selector(selector, empty_is_absent=True) if selector else None
        return cls(
            tuple(running.options.get("--scheduler-name", ())) or SCHEDULER_NAMES,
            int(seed) if seed.isdecimal() else 0,
            ShardChoice(ShardMode(mode), name, chosen) if mode != "none" else None,
            running.option("--default-queue") or DEFAULT_QUEUE,
            read_node_selector(running.options.get("--node-selector", ())),
        )


def read_objects(
    source: Sequence[str | Path] | JobSource,
    now: float,
    settings: PlanSettings,
    namespace: str = DEFAULT_NAMESPACE,
    beside: ClusterBeside | None = None,
) -> Manifests:
    """Read manifests with the pods of their workloads, in the cluster `beside`. Raises ManifestError."""
    paths, text = _paths_and_text(source)
    return read_with_workloads(
        paths, io.StringIO(text), scheduler_names=settings.scheduler_names, now=now,
        beside=lambda objects: beside or ClusterBeside(), job_plugins=installed_plugins().changes_of,
        namespace_for=lambda items: namespace,
    )  # fmt: skip


def _paths_and_text(source: Sequence[str | Path] | JobSource) -> tuple[list[str], str]:
    """Return paths, of which `-` is the text."""
    if isinstance(source, Path):
        return [str(source)], ""
    if isinstance(source, str):
        return (["-"], source) if "\n" in source or source.lstrip().startswith("{") else ([source], "")
    if isinstance(source, Mapping):
        return ["-"], json.dumps(source)
    if all(isinstance(item, str | Path) for item in source):
        return [str(item) for item in source], ""
    if all(isinstance(item, Mapping) for item in source):
        return ["-"], json.dumps({"apiVersion": "v1", "kind": "List", "items": [*source]})
    raise TypeError("objects are mappings, such as {'apiVersion': 'v1', 'kind': 'Pod', ...}, and files are paths")


class LiveReader:
    """Reads a living cluster. Requests run in a thread of their own: a notebook has an event loop already."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def read(self, installation: InstallationName) -> tuple[ClusterObjects, RunningScheduler]:
        """Raises ClusterError."""
        return self._run(lambda client: _read(client, installation))

    def config_maps(self, keys: Sequence[str]) -> tuple[list[Any], list[str]]:
        """Raises ClusterError."""
        return self._run(lambda client: read_config_maps(client, keys))

    def find(self, kind: Kind, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Raises ClusterError and ReferenceDenied."""
        return self._run(lambda client: find_reference(client, kind, namespace, name))

    def _run(self, request: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        try:
            with ThreadPoolExecutor(1) as thread:
                return thread.submit(asyncio.run, self._answer(request)).result()
        except Unreachable as error:
            cause = str(error).partition(": ")[2] or error
            remedy = "start the cluster, or name another kubeconfig or context"
            raise ClusterError(
                f"the API server {self.connection.server} is unreachable: {cause}; {remedy}"
            ) from error  # fmt: skip
        except ApiError as error:
            raise ClusterError(str(error)) from error

    async def _answer(self, request: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        async with Client(self.connection) as client:
            return await request(client)


async def _read(client: Client, installation: InstallationName) -> tuple[ClusterObjects, RunningScheduler]:
    scheduler = await find_scheduler(client, installation)
    return await list_objects(client), scheduler


def cluster_beside(objects: Sequence[KubeObject], reader: LiveReader | None) -> ClusterBeside:
    return ClusterBeside(objects, reader.find if reader else None)
