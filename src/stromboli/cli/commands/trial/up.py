"""`stromboli up`: a local cluster in one command."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.examples import example_path
from stromboli.cli.local_kubeconfig import (
    check_kubeconfig_path,
    run_history,
    state_folder,
    temporary_kubeconfig,
    view_footer,
)
from stromboli.cli.options.connection import log_options
from stromboli.cli.options.history import HistoryAddress
from stromboli.cli.options.settings import DURATION, conf_option, paths_option, plugin_option, seed_option
from stromboli.cli.output import Failure, escape_controls, object_name, warn
from stromboli.cli.policies import read_registry

if TYPE_CHECKING:
    from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
    from stromboli.local.up.local_cluster import LocalCluster
    from stromboli.scheduler.policy import ActivePolicy

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

#: Every kubelet offers some, and published manifests request it.
_STORAGE = "1Ti"
#: Seconds between forecasts of the starts of waiting jobs.
_FORECAST_PERIOD = 60.0


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
@paths_option("They are applied after the start.")
@conf_option("It is reloaded when it changes.")
@click.option("--scheduler-conf", hidden=True)
@click.option(
    "--bind-mode", type=click.Choice(("direct", "request")),
    help="Bind pods in the scheduler, or with bind requests and a binder. Default: that of the policy, else direct.",
)  # fmt: skip
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port of the API server; default: any free port."
)
@click.option("--console/--no-console", default=True, show_default=True, help="Serve the web console.")
@click.option(
    "--console-port", type=click.IntRange(0, 65535), default=0, help="The port of the console; default: any free port."
)
@click.option(
    "--history", type=HistoryAddress(), metavar="ADDRESS",
    help="Record what happens to jobs here, and keep it; empty: nothing. Default: a file that ends with the cluster.",
)  # fmt: skip
@click.option("--watch", is_flag=True, help="Show jobs, nodes, queues and events.")
@click.option("--for", "duration", type=DURATION, metavar="DURATION", help="Stop after this time.")
@seed_option()
@log_options
def up(**options: Any) -> None:
    """Start a local cluster with simulated nodes, in this process.

    The API server works with kubectl, and the scheduler is the production scheduler; the nodes and their pods are
    simulated. The only files written are the kubeconfig and the history, which end with it. Ctrl-C stops the cluster.
    """
    from stromboli.observability.logs import set_up_logs

    path = options["kubeconfig"] or state_folder() / "kubeconfig"
    check_kubeconfig_path(path)
    pool = _pool(options)
    documents = _documents(options["paths"])
    policy = _policy(options)
    level = "warning" if options["log_level"] == "info" else options["log_level"]
    set_up_logs(log_format=options["log_format"], level=level)
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
    resources["ephemeral-storage"] = _STORAGE
    if options["gpu"]:
        resources["nvidia.com/gpu"] = str(options["gpu"])
    return NodePool(options["nodes"], resources=resources, racks=options["racks"])


def _documents(paths: Sequence[str]) -> list[dict[str, Any]]:
    from stromboli.cli.stages import read_stages

    try:
        return [document for stage in read_stages(paths, sys.stdin) for document in stage.documents]
    except ValueError as error:
        raise Failure(error) from error


def _policy(options: dict[str, Any]) -> ActivePolicy:
    from stromboli.external.extenders import HttpExtenders
    from stromboli.scheduler.policy import ActivePolicy, PolicyError

    registry, outside = read_registry(options["plugins"]), HttpExtenders()
    try:
        policy = ActivePolicy(registry, options["conf"] or options["scheduler_conf"] or "", outside=outside)
    except PolicyError as error:
        raise Failure(error) from error
    click.get_current_context().call_on_close(policy.close)
    warn(policy.warnings)
    policy.report = _report_policy
    return policy


def _report_policy(policy: ActivePolicy) -> None:
    """Report a changed policy file."""
    if policy.problem:
        click.echo(f"Invalid policy; the last valid one stays active: {policy.problem}", err=True)
    else:
        click.echo("Policy reloaded.")
        warn(policy.warnings)


async def _run(
    policy: ActivePolicy, pool: NodePool, documents: list[dict[str, Any]], path: Path, options: dict[str, Any]
) -> None:
    from stromboli.local.api_server.server import ApiServer
    from stromboli.local.up.local_cluster import local_cluster
    from stromboli.observability.signals import stopped_by_signal
    from stromboli.scheduler.options import SchedulerOptions

    stop = asyncio.Event()
    with stopped_by_signal(stop.set), run_history(options["history"]) as history:
        server = ApiServer(port=options["port"])
        behaviour = SchedulerOptions(
            seed=options["seed"], bind_mode=options["bind_mode"] or "", history=history,
            forecast=_FORECAST_PERIOD, plugins=tuple(options["plugins"]),
        )  # fmt: skip
        async with local_cluster(policy, pools=[pool], options=behaviour, server=server) as running:
            async with contextlib.AsyncExitStack() as stack:
                stack.enter_context(temporary_kubeconfig(server, path, history))
                link = await _console(stack, running, history, options)
                _print_instructions(path, pool, link)
                await _apply(running, documents)
                works = [_watch(running, policy, path)] if options["watch"] else []
                await running.run_until(stop, options["duration"], *works)
            click.echo("Stopping.")


async def _watch(running: LocalCluster, policy: ActivePolicy, path: Path) -> None:
    """Show the live view; a changed policy file is one of its events."""
    from stromboli.cli.text.live.display import LiveView

    view = LiveView(running.scheduler, "stromboli up", view_footer(path))
    policy.report = lambda policy: view.cycles.note("Policy", "policy", policy.problem or "reloaded")
    await view.run()


async def _console(
    stack: contextlib.AsyncExitStack, running: LocalCluster, history: str, options: dict[str, Any]
) -> str:
    """Start the web console and return its link; empty without one."""
    from stromboli.cli.local_console import local_console

    if not options["console"]:
        return ""
    return await stack.enter_async_context(
        local_console(running, options["console_port"], history=history, plugins=options["plugins"])
    )


def _print_instructions(path: Path, pool: NodePool, link: str) -> None:
    click.echo(f"A local cluster with {pool.count} simulated nodes is running. In another terminal:\n")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(path))}")
    click.echo("  kubectl get nodes")
    click.echo(f"  kubectl apply -f {shlex.quote(example_path('tutorials/first-gang/train.yaml'))}")
    click.echo("  kubectl get podgroups --watch\n")
    if link:
        click.echo(f"The web console: {link}\n")
    click.echo("Ctrl-C stops it.")


async def _apply(running: LocalCluster, documents: list[dict[str, Any]]) -> None:
    from stromboli.kube.client.api_errors import RequestFailed
    from stromboli.kube.client.apply import Applier
    from stromboli.kube.manifests.errors import ObjectError

    applier = Applier(running.client)
    try:
        await applier.apply(
            documents, lambda document, done: click.echo(f"{escape_controls(object_name(document))} {done}")
        )
    except ObjectError as error:
        raise Failure(error) from error
    except RequestFailed as error:
        raise Failure(f"{object_name(applier.current)}: {error}") from error
