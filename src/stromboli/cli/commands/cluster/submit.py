"""`stromboli submit`: a job from the command line."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.changes.running import own_namespace_option, run_with_client
from stromboli.cli.completion import complete_priority_classes, complete_queues
from stromboli.cli.options.connection import connection_options, connector
from stromboli.cli.options.pairs import PAIR, pairs
from stromboli.cli.options.settings import DURATION, output_option
from stromboli.cli.output import Failure, escape_controls, object_name
from stromboli.cli.scenario import WAITING

if TYPE_CHECKING:
    from stromboli.cli.changes.new_job import NewJob
    from stromboli.kube.client.client import Client

_EPILOG = """\b
Examples:
  stromboli submit --image example/train --gang 4 --gpu 2 --cpu 8 \\
    --memory 16Gi --queue research -- python train.py
  stromboli submit --image busybox --name hello --wait -- echo hello
  stromboli submit --image example/train --gang 8 --gpu 8 --time 12h \\
    --logs -- torchrun train.py
  stromboli submit --image example/train --kind vcjob --gang 2
  stromboli submit --image example/train --gang 2 --dry-run -o yaml

\b
Exit codes:
  0  submitted; with --wait, started
  1  invalid input, or the cluster is unreachable
  2  wrong usage
  3  the job waits at the end of --timeout
"""


@click.command(epilog=_EPILOG)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option("--image", required=True, metavar="IMAGE", help="The container image.")
@click.option(
    "--kind", type=click.Choice(("job", "vcjob")), default="job", show_default=True,
    help="A batch Job with a PodGroup, or a Volcano Job.",
)  # fmt: skip
@click.option("--name", default="", metavar="NAME", help="The name of the job. Default: from the image, and random.")
@click.option("--gang", type=click.IntRange(1), default=1, show_default=True, help="Pods that must start together.")
@click.option("--pods", type=click.IntRange(1), help="Pods in all. Default: as many as the gang.")
@click.option("--cpu", default="1", show_default=True, metavar="AMOUNT", help="CPU of each pod.")
@click.option("--memory", default="", metavar="AMOUNT", help="Memory of each pod.")
@click.option("--gpu", type=click.IntRange(0), default=0, help="GPUs of each pod (nvidia.com/gpu).")
@click.option("--request", "further", type=PAIR, multiple=True, metavar="NAME=AMOUNT", help="A further resource.")
@click.option("--queue", default="", metavar="NAME", shell_complete=complete_queues, help="Default: the default queue.")
@click.option(
    "--priority-class",
    default="",
    metavar="NAME",
    shell_complete=complete_priority_classes,
    help="The PriorityClass of the job.",
)
@click.option("--time", "limit", type=DURATION, default=0.0, metavar="DURATION", help="The longest run time.")
@click.option("--retries", type=click.IntRange(0), default=0, show_default=True, help="Failed pods to replace.")
@click.option("--env", "environment", type=PAIR, multiple=True, metavar="NAME=VALUE", help="A variable. Repeatable.")
@click.option("--scheduler-name", default="stromboli", show_default=True, metavar="NAME", help="The scheduler.")
@click.option("--dry-run", is_flag=True, help="Print the objects instead of creating them.")
@click.option("--wait", "waits", is_flag=True, help="Wait until the job has started, and print why it waits.")
@click.option("--timeout", type=DURATION, metavar="DURATION", help="End --wait or --logs after this time.")
@click.option("--logs", is_flag=True, help="Wait, and print the log of the first pod until it ends.")
@own_namespace_option
@output_option()
@connection_options
def submit(command: tuple[str, ...], output: str, dry_run: bool, **options: Any) -> None:
    """Submit a job: a batch Job, or a Volcano Job, whose pods form a gang.

    A PodGroup with the minimum of the gang and the Job are created; the Job owns the PodGroup. Its pods are indexed:
    $JOB_COMPLETION_INDEX is the number of a pod. Of a Volcano Job a controller makes the PodGroup and the pods.
    """
    connection = None if dry_run and options["namespace"] else _connection(options, needed=not dry_run)
    namespace = options["namespace"] or (connection.namespace if connection else "default")
    job = _job(command, namespace, options)
    if not dry_run and connection is not None:
        run_with_client(connection, lambda client: _submit(client, job, options, output), f"{job.resource.kind}s")
    else:
        _print(job, output, "created (dry run)")


def _connection(options: dict[str, Any], *, needed: bool) -> Any:
    """Return the connection; None without a cluster, if none is needed."""
    try:
        return connector(options)()
    except Failure:
        if needed:
            raise
        return None


def _job(command: tuple[str, ...], namespace: str, options: dict[str, Any]) -> NewJob:
    from stromboli.cli.changes.new_job import GPU, NewJob, NewVolcanoJob

    gang = options["gang"]
    pods = options["pods"] or gang
    if pods < gang:
        raise click.UsageError(f"--pods {pods} is less than --gang {gang}: so many pods could never start together.")
    requests = {
        "cpu": options["cpu"],
        "memory": options["memory"],
        GPU: str(options["gpu"] or ""),
        **pairs(options["further"], "--request"),
    }
    make = NewVolcanoJob if options["kind"] == "vcjob" else NewJob
    job = make(
        name=options["name"] or _new_name(options["image"]),
        namespace=namespace,
        image=options["image"],
        command=command,
        gang=gang,
        pods=pods,
        requests={name: amount for name, amount in requests.items() if amount},
        queue=options["queue"],
        priority_class=options["priority_class"],
        limit=round(options["limit"]),
        environment=pairs(options["environment"], "--env"),
        scheduler=options["scheduler_name"],
        retries=options["retries"],
    )
    try:
        job.documents()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return job


def _new_name(image: str) -> str:
    """Return a new name from the last part of an image."""
    base = image.rpartition("/")[2].partition(":")[0].partition("@")[0].lower()
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in base).strip("-")
    return f"{plain[:50] or 'job'}-{secrets.token_hex(3)}"


def _print(job: NewJob, output: str, outcome: str) -> None:
    from stromboli.cli.text.objects import objects_printout

    documents = job.documents()
    if output not in ("table", "wide"):
        objects_printout(documents).echo(output)
        return
    for document in documents:
        click.echo(escape_controls(f"{object_name(document)} {outcome}"))


async def _submit(client: Client, job: NewJob, options: dict[str, Any], output: str) -> None:
    from stromboli.cli.changes.submission import submit as create

    await create(client, job)
    _print(job, output, "created")
    if not (options["waits"] or options["logs"]):
        return
    try:
        await asyncio.wait_for(_follow(client, job, with_log=options["logs"]), options["timeout"])
    except TimeoutError:
        click.echo(f"job {job.name} still waits; it stays submitted", err=True)
        click.get_current_context().exit(WAITING)


async def _follow(client: Client, job: NewJob, *, with_log: bool) -> None:
    from stromboli.cli.changes.submission import first_log, wait_for_start
    from stromboli.kube.client.api_errors import ApiError

    await wait_for_start(client, job, lambda reason: click.echo(f"waits: {escape_controls(reason)}", err=True))
    click.echo("started", err=True)
    if not with_log:
        return
    try:
        async for line in first_log(client, job):
            click.echo(line.rstrip(b"\n"))
    except ApiError as error:
        raise Failure(f"the log cannot be read: {error}") from error
