"""Whether a command reads a cluster, and what it reads there.

Manifests that contain nodes are a complete cluster, so that nothing is read from another one. Manifests without nodes
are about to be submitted to the cluster of the kubeconfig. Options decide otherwise: `--kubeconfig`, `--context` and
`--master` connect in any case, and `--offline` never.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.live import CLUSTER_PARAMETERS
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.core.session.program import Program
    from stromboli.kube import ConfigMap, KubeObject
    from stromboli.kube.client.config.connection import Connection, ConnectionProblem
    from stromboli.kube.manifests.manifests import Manifests
    from stromboli.planner.live.installation import InstallationName, RunningScheduler
    from stromboli.planner.live.listing import ClusterObjects
    from stromboli.workloads.expander import ClusterBeside
    from stromboli.workloads.registry import WorkloadFamily
    from stromboli.workloads.templates import Kind


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """What was read from a cluster."""

    found: ClusterObjects
    scheduler: RunningScheduler
    server: str


class ListingDenied(Failure):
    """The user may not list what decisions depend on; the scheduler may answer instead."""


class ClusterSource:
    """The cluster of a command's options, and the files beside it."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._connection: Connection | None = None
        self._problem: ConnectionProblem | None = None
        self._live: LiveCluster | None = None
        self.is_chosen = any(options.get(name) for name in CLUSTER_PARAMETERS)
        self.is_offline = bool(options.get("offline"))
        #: Whether the scheduler answers, because the objects of the cluster may not be listed.
        self.is_denied = False
        if self.is_offline and self.is_chosen:
            raise click.UsageError("--offline contradicts --kubeconfig, --context and --master; drop one of them.")

    @property
    def namespace(self) -> str:
        """The namespace of `-n`; empty for all."""
        return self._options.get("namespace") or ""

    def files(self, paths: Sequence[str], scheduler_names: Sequence[str], now: float) -> Manifests:
        """Read the files. Objects without a namespace get that of `-n` or, for a cluster, of the context."""
        from stromboli.controllers.jobs.plugins.registry import installed_plugins
        from stromboli.kube.manifests.manifests import ManifestError, Manifests
        from stromboli.workloads.reading import read_with_workloads

        if not paths:
            return Manifests()
        try:
            manifests = read_with_workloads(
                paths, sys.stdin, scheduler_names=scheduler_names, described=described_kinds(self._options, paths),
                namespace_for=self._namespace_for, beside=self._beside, now=now,
                job_plugins=installed_plugins().changes_of,
            )  # fmt: skip
        except ManifestError as error:
            raise Failure(error) from error
        self._check_namespaces(manifests)
        return manifests

    def _beside(self, objects: Sequence[KubeObject]) -> ClusterBeside:
        """Return the cluster to which objects of files are added, if they are."""
        from stromboli import kube
        from stromboli.workloads.expander import ClusterBeside

        has_nodes = any(isinstance(entry, kube.KubeNode) for entry in objects)
        if not self._is_online(has_nodes=has_nodes):
            return ClusterBeside()
        if self.is_denied:
            return ClusterBeside((), self._find)
        found: Any = self.read().found.objects
        return ClusterBeside(found, self._find)

    def _find(self, kind: Kind, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return an object of the cluster that a workload refers to; None if it does not exist."""
        import asyncio

        from stromboli.cli.options.connection import request_errors

        connection = self.required()
        with request_errors(connection, f"{kind[1]}s"):
            return asyncio.run(_find_reference(connection, kind, namespace, name))

    def _namespace_for(self, items: Sequence[object]) -> str:
        return self.namespace or (self._connected_namespace() if self._connects(items) else "default")

    def _connected_namespace(self) -> str:
        connection = self.connection()
        return connection.namespace if connection is not None else "default"

    def _check_namespaces(self, manifests: Manifests) -> None:
        """As kubectl: an object of another namespace than that of `-n` is an error."""
        for entry in manifests.objects if self.namespace else ():
            other = entry.metadata.namespace
            if other and other != self.namespace:
                text = f"{type(entry).kind_name} {entry.key}: metadata.namespace: is not {self.namespace}"
                raise Failure(f"{manifests.origins.located(text)}, the namespace of -n; use -n {other}")

    def is_wanted(self, manifests: Manifests | None) -> bool:
        """Report whether to read the cluster, beside these files."""
        from stromboli import kube

        if manifests is None:
            return not self.is_offline
        has_nodes = any(isinstance(entry, kube.KubeNode) for entry in manifests.objects)
        return self._is_online(has_nodes=has_nodes)

    def _connects(self, items: Sequence[object]) -> bool:
        kinds = (each.get("kind") for each in items if isinstance(each, Mapping))
        return self._is_online(has_nodes="Node" in kinds)

    def _is_online(self, *, has_nodes: bool) -> bool:
        if self.is_offline or (has_nodes and not self.is_chosen):
            return False
        return self.is_chosen or self.connection() is not None or self._is_misconfigured()

    def _is_misconfigured(self) -> bool:
        """Report whether a cluster is configured, but cannot be reached with what is configured."""
        from stromboli.kube.client.config.kubeconfig import kubeconfig_exists

        return kubeconfig_exists()

    def connection(self) -> Connection | None:
        """Return the connection of the options; None if there is none. The reason is kept for `required`."""
        from stromboli.kube.client.config.connect import connect
        from stromboli.kube.client.config.connection import ConnectionProblem

        if self._connection is None and self._problem is None:
            try:
                self._connection = connect(*(self._options.get(name) for name in CLUSTER_PARAMETERS))
            except ConnectionProblem as error:
                self._problem = error
        return self._connection

    def required(self) -> Connection:
        """Return the connection. Without one, the command ends with a message."""
        connection = self.connection()
        if connection is None and not self.is_chosen and not self._is_misconfigured():
            raise click.UsageError(
                f"Missing option '-f' / '--filename', and there is no cluster to read instead: {self._problem}."
            )
        if connection is None:
            raise Failure(str(self._problem))
        return connection

    def read(self) -> LiveCluster:
        """Read the cluster, once. Failures end the command with a message."""
        if self._live is None:
            self._live = self._read()
        return self._live

    def _read(self) -> LiveCluster:
        import asyncio

        from stromboli.cli.options.connection import request_errors
        from stromboli.planner.live.errors import AccessDenied, ClusterError

        connection = self.required()
        try:
            with request_errors(connection, "objects of this kind"):
                return asyncio.run(_read(connection, self._options["installation"]))
        except AccessDenied as error:
            raise ListingDenied(error) from error
        except ClusterError as error:
            raise Failure(error) from error

    def read_named(self, program: Program) -> tuple[list[ConfigMap], list[str]]:
        """Read the ConfigMaps that the plugins of a policy name; returns warnings about what is not read."""
        import asyncio

        from stromboli.cli.options.connection import request_errors

        warnings = []
        if program.usage_window:
            warnings.append("the policy reads node usage, which is not measured here: the result assumes no figures")
        if not program.config_maps:
            return [], warnings
        connection = self.required()
        with request_errors(connection, "ConfigMaps"):
            found, missing = asyncio.run(_read_config_maps(connection, program.config_maps))
        return found, [*warnings, *missing]


async def _find_reference(connection: Connection, kind: Kind, namespace: str, name: str) -> Mapping[str, Any] | None:
    from stromboli.kube.client.client import Client
    from stromboli.planner.live.references import find_reference

    async with Client(connection) as client:
        return await find_reference(client, kind, namespace, name)


async def _read_config_maps(connection: Connection, keys: Sequence[str]) -> tuple[list[ConfigMap], list[str]]:
    from stromboli.kube.client.client import Client
    from stromboli.planner.live.references import read_config_maps

    async with Client(connection) as client:
        return await read_config_maps(client, keys)


def described_kinds(options: Mapping[str, Any], paths: Sequence[str]) -> Mapping[Kind, WorkloadFamily]:
    """Read the descriptions of kinds of `--kinds`. Invalid ones end the command with a message."""
    from stromboli.kube.manifests.manifests import ManifestError
    from stromboli.workloads.declared.expansion import read_described_kinds

    files = options.get("kinds") or ()
    if [*files, *paths].count("-") > 1:
        raise click.UsageError("-f and --kinds cannot both read the standard input.")
    try:
        return read_described_kinds(files, sys.stdin)
    except ManifestError as error:
        raise Failure(error) from error


async def _read(connection: Connection, installation: InstallationName) -> LiveCluster:
    from stromboli.kube.client.client import Client
    from stromboli.planner.live.installation import find_scheduler
    from stromboli.planner.live.listing import list_objects

    async with Client(connection) as client:
        scheduler = await find_scheduler(client, installation)
        return LiveCluster(await list_objects(client), scheduler, connection.server)
