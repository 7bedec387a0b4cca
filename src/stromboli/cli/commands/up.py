"""`stromboli up`: a cluster to play with, in one command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.kubeconfig_file import check_kubeconfig_path, state_folder, temporary_kubeconfig
from stromboli.cli.options.connection import log_options
from stromboli.cli.options.durations import DURATION
from stromboli.cli.output import Failure
from stromboli.cli.scenario import read_registry

if TYPE_CHECKING:
    from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
    from stromboli.local.up.local_cluster import LocalCluster
    from stromboli.scheduler.policy import SchedulingPolicy

_EPILOG = """\b
Examples:
  stromboli up
  stromboli up --nodes 100 --cpu 64 --memory 256Gi --gpu 8 --racks 10
  stromboli up -f examples/demo --watch --for 30s

\b
Annotations of pods tell how long they live here:
  stromboli.dev/start-seconds  until a pod runs
  stromboli.dev/run-seconds    until it ends; without it, it runs on
  stromboli.dev/exit-code      with which it ends
  stromboli.dev/stop-seconds   until it is gone when it is deleted

\b
An annotation of nodes makes them fail:
  stromboli.dev/ready          "false": not ready; "unknown": silent

\b
Exit codes:
  0  stopped
  1  something that was given cannot be used
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.option("--nodes", type=click.IntRange(0, 20_000), default=4, show_default=True, help="How many nodes.")
@click.option("--cpu", default="16", show_default=True, metavar="AMOUNT", help="CPU of each node.")
@click.option("--memory", default="64Gi", show_default=True, metavar="AMOUNT", help="Memory of each node.")
@click.option("--gpu", type=click.IntRange(0, 64), default=0, show_default=True, help="GPUs of each node.")
@click.option("--pods", type=click.IntRange(1, 10_000), default=110, show_default=True, help="Pods per node.")
@click.option(
    "--racks", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Racks to spread them over."
)
@click.option(
    "--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Where to write the kubeconfig. Without it: a folder of the command's own.",
)  # fmt: skip
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="PATH", type=click.Path(allow_dash=True),
    help="Manifests to apply when the cluster is up: a file, a folder, or - for the standard input.",
)  # fmt: skip
@click.option("--scheduler-conf", default="", metavar="FILE", help="The policy; read again whenever it changes.")
@click.option(
    "--bind-mode", type=click.Choice(("direct", "request")),
    help="Let the scheduler bind pods, or a binder that is started, too. Without it: as the policy says, else direct.",
)  # fmt: skip
@click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
    help="A plugin or action of your own that the policy may name. May be given several times.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The API server's port; else any free one.")
@click.option("--watch", is_flag=True, help="Show what happens to the groups of pods.")
@click.option("--for", "duration", type=DURATION, metavar="DURATION", help="Stop by itself after so long.")
@click.option("--seed", type=int, default=0, metavar="N", help="Which of equally good nodes comes first.")
@log_options
def up(**options: Any) -> None:
    """Start a cluster to play with, in this process.

    It has simulated nodes, and a kubeconfig for it is written. The API server is real enough for kubectl, the scheduler
    is the one that runs in production; only the nodes do not exist, and their pods merely pass the time. Nothing is
    written but the kubeconfig, and Ctrl-C ends it all.
    """
    from stromboli.observability.logs import set_up_logs

    path = options["kubeconfig"] or state_folder() / "kubeconfig"
    check_kubeconfig_path(path)
    pool = _pool(options)
    documents = _documents(options["paths"])
    policy = _policy(options)
    level = "warning" if options["log_level"] == "info" else options["log_level"]
    set_up_logs(form=options["log_format"], level=level)
    try:
        asyncio.run(_run(policy, pool, documents, path, options))
    except OSError as error:
        raise Failure(f"the API server cannot listen: {error.strerror or error}; choose another --port") from error


def _pool(options: dict[str, Any]) -> NodePool:
    from stromboli.core.model.resources.quantity import parse_quantity
    from stromboli.local.fakes.kubelet.simulated_nodes import NodePool

    resources = {"cpu": options["cpu"], "memory": options["memory"], "pods": str(options["pods"])}
    for name in ("cpu", "memory"):
        try:
            parse_quantity(resources[name], milli=True)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=f"--{name}") from error
    if options["gpu"]:
        resources["nvidia.com/gpu"] = str(options["gpu"])
    return NodePool(options["nodes"], resources=resources, racks=options["racks"])


def _documents(paths: Sequence[str]) -> list[dict[str, Any]]:
    from stromboli.kube.manifests.sources import ManifestError, read_sources
    from stromboli.kube.manifests.yaml import load_documents

    documents: list[dict[str, Any]] = []
    try:
        for name, text in read_sources(paths, sys.stdin):
            for entry in load_documents(text, name):
                documents += _items(entry, name)
    except (ManifestError, ValueError) as error:
        raise Failure(error) from error
    return documents


def _items(entry: object, source: str) -> list[dict[str, Any]]:
    """The objects of a document, which may be a list of them. Raises ValueError for what is no object."""
    if entry is None:
        return []
    if not isinstance(entry, dict):
        raise ValueError(f"{source}: a document is no object; write apiVersion, kind and metadata")
    if entry.get("kind") != "List":
        return [entry]
    items = entry.get("items")
    if not isinstance(items, list):
        raise ValueError(f"{source}: List: items: expected a list; write one object per dash")
    return [item for inner in items for item in _items(inner, source)]


def _policy(options: dict[str, Any]) -> SchedulingPolicy:
    from stromboli.external.extenders import HttpExtenders
    from stromboli.scheduler.policy import PolicyError, SchedulingPolicy

    registry, outside = read_registry(options["plugins"]), HttpExtenders()
    try:
        policy = SchedulingPolicy(registry, options["scheduler_conf"], default=False, outside=outside)
    except PolicyError as error:
        raise Failure(error) from error
    click.get_current_context().call_on_close(policy.close)
    policy.told = _report_policy
    return policy


def _report_policy(problem: str) -> None:
    """The file was changed while the cluster runs."""
    if problem:
        click.echo(f"The policy cannot be used; the last good one stays: {problem}", err=True)
    else:
        click.echo("The policy has changed.")


async def _run(
    policy: SchedulingPolicy, pool: NodePool, documents: list[dict[str, Any]], path: Path, options: dict[str, Any]
) -> None:
    from stromboli.local.api_server.server import ApiServer
    from stromboli.local.up.local_cluster import local_cluster
    from stromboli.observability.signals import stopped_by_signal
    from stromboli.scheduler.options import SchedulerOptions

    stop = asyncio.Event()
    with stopped_by_signal(stop.set):
        server = ApiServer(port=options["port"])
        behaviour = SchedulerOptions(seed=options["seed"], bind_mode=options["bind_mode"] or "")
        async with local_cluster(policy, pools=[pool], options=behaviour, server=server) as running:
            with temporary_kubeconfig(server, path):
                _tell(path, pool)
                await _apply(running, documents)
                await _play(running, stop, options["watch"], options["duration"])
            click.echo("Stopping.")


def _tell(path: Path, pool: NodePool) -> None:
    click.echo(f"A cluster of {pool.count} simulated nodes is up. Try, in another terminal:\n")
    click.echo(f"  export KUBECONFIG={path}")
    click.echo("  kubectl get nodes")
    click.echo("  kubectl apply -f examples/demo && kubectl get podgroups,pods --watch\n")
    click.echo("Ctrl-C ends it.")


async def _apply(running: LocalCluster, documents: list[dict[str, Any]]) -> None:
    from stromboli.kube.client.api_errors import RequestFailed
    from stromboli.kube.client.apply import Applier
    from stromboli.kube.manifests.errors import ObjectError

    try:
        count = await Applier(running.client).apply(documents)
    except (ObjectError, RequestFailed) as error:
        raise Failure(error) from error
    if count:
        click.echo(f"{count} objects applied.")


async def _play(running: LocalCluster, stop: asyncio.Event, watch: bool, duration: float | None) -> None:
    """Until somebody stops it, time is up, or a part fails."""
    from stromboli.cli.text.live import show_live

    shown = asyncio.Event()
    works = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(running.until_failure())]
    display = asyncio.ensure_future(show_live(running.scheduler.cluster, shown)) if watch else None
    done, others = await asyncio.wait(works, timeout=duration, return_when=asyncio.FIRST_COMPLETED)
    for work in others:
        work.cancel()
    shown.set()
    if display is not None:
        with contextlib.suppress(asyncio.CancelledError):
            await display
    for work in done:
        work.result()
