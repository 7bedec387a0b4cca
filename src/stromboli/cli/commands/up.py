"""`stromboli up`: a local cluster in one command."""

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
Annotations of pods for the fake kubelets:
  stromboli.dev/start-seconds  time until the pod runs
  stromboli.dev/run-seconds    run time; unlimited without it
  stromboli.dev/exit-code      exit code
  stromboli.dev/stop-seconds   termination time after deletion

\b
Annotation of nodes to simulate failures:
  stromboli.dev/ready          "false": not ready; "unknown": no heartbeats

\b
Exit codes:
  0  stopped
  1  invalid input
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.option("--nodes", type=click.IntRange(0, 20_000), default=4, show_default=True, help="Number of nodes.")
@click.option("--cpu", default="16", show_default=True, metavar="AMOUNT", help="CPU of each node.")
@click.option("--memory", default="64Gi", show_default=True, metavar="AMOUNT", help="Memory of each node.")
@click.option("--gpu", type=click.IntRange(0, 64), default=0, show_default=True, help="GPUs of each node.")
@click.option("--pods", type=click.IntRange(1, 10_000), default=110, show_default=True, help="Pods per node.")
@click.option("--racks", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of racks.")
@click.option(
    "--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="The file for the kubeconfig. Default: in the state folder of the command.",
)  # fmt: skip
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="PATH", type=click.Path(allow_dash=True),
    help="Manifests to apply after the start: a file, a folder, or - for the standard input.",
)  # fmt: skip
@click.option("--scheduler-conf", default="", metavar="FILE", help="The policy; reloaded when it changes.")
@click.option(
    "--bind-mode", type=click.Choice(("direct", "request")),
    help="Bind pods in the scheduler, or with bind requests and a binder. Default: that of the policy, else direct.",
)  # fmt: skip
@click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
    help="Your own plugin or action that the policy may name. Repeatable.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port of the API server; default: any free port."
)
@click.option("--watch", is_flag=True, help="Show the state of the pod groups.")
@click.option("--for", "duration", type=DURATION, metavar="DURATION", help="Stop after this time.")
@click.option("--seed", type=int, default=0, metavar="N", help="The order of nodes with equal scores.")
@log_options
def up(**options: Any) -> None:
    """Start a local cluster with simulated nodes, in this process.

    The API server works with kubectl, and the scheduler is the production scheduler; the nodes and their pods are
    simulated. The only file written is the kubeconfig. Ctrl-C stops the cluster.
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
    """Return the objects of a document, which may be a List. Raises ValueError for anything else."""
    if entry is None:
        return []
    if not isinstance(entry, dict):
        raise ValueError(f"{source}: a document is not an object; add apiVersion, kind and metadata")
    if entry.get("kind") != "List":
        return [entry]
    items = entry.get("items")
    if not isinstance(items, list):
        raise ValueError(f"{source}: List: items: expected a list of objects")
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
    """Report a changed policy file."""
    if problem:
        click.echo(f"Invalid policy; the last valid one stays active: {problem}", err=True)
    else:
        click.echo("Policy reloaded.")


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
                _print_instructions(path, pool)
                await _apply(running, documents)
                await _play(running, stop, options["watch"], options["duration"])
            click.echo("Stopping.")


def _print_instructions(path: Path, pool: NodePool) -> None:
    click.echo(f"A local cluster with {pool.count} simulated nodes is running. In another terminal:\n")
    click.echo(f"  export KUBECONFIG={path}")
    click.echo("  kubectl get nodes")
    click.echo("  kubectl apply -f examples/demo && kubectl get podgroups,pods --watch\n")
    click.echo("Ctrl-C stops it.")


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
    """Run until stopped, until the time is up, or until a component fails."""
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
