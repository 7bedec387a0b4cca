"""`stromboli uninstall`: removes an installation, and its traces on objects of others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.connection import connection_options, connector, namespace_option, request_errors
from stromboli.cli.options.settings import DURATION, output_option
from stromboli.cli.output import Failure, Printout, object_name, warn
from stromboli.cli.text.tables import Table, echo_table

if TYPE_CHECKING:
    from stromboli.install.uninstallation import Removal
    from stromboli.kube.client.config.connection import Connection

_EPILOG = """\b
Examples:
  stromboli uninstall --dry-run
  stromboli uninstall --keep-crds --yes
  stromboli uninstall --delete-crds
  stromboli uninstall --dry-run -o json | jq '.removals[].name'

\b
Exit codes:
  0  removed, or nothing to remove
  1  invalid input, not confirmed, unreachable, or some objects not removed
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@namespace_option
@click.option(
    "--keep-crds/--delete-crds", default=True, show_default=True,
    help="Whether PodGroups, Queues and other custom resources stay. Deleting the CRDs deletes all of them.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--timeout", type=DURATION, default="2m", show_default=True, metavar="DURATION",
    help="How long the processes may take to end.",
)  # fmt: skip
@output_option()
@connection_options
def uninstall(
    namespace: str, keep_crds: bool, dry_run: bool, yes: bool, timeout: float, output: str, **connection: str | None
) -> None:
    """Remove an installation, and its traces on other objects.

    Deletes webhooks, processes, roles and bind requests. On queues, PodGroups, HyperNodes and nodes it releases the
    fields that the processes own, and removes their annotations, labels and conditions, so that Volcano can take over.
    Pods are not changed.
    """
    target = connector(connection)()
    removals = asyncio.run(_planned(target, namespace, keep_crds))
    if not dry_run and any(each.action != "keep" for each in removals):
        if not yes:
            _printout(removals, dry_run=True).echo("table")
            click.confirm(_question(target, keep_crds), abort=True, err=True)
        asyncio.run(_remove(target, namespace, keep_crds, timeout, removals))
    _printout(removals, dry_run=dry_run).echo(output)
    if failed := [each for each in removals if each.error]:
        raise Failure(f"{len(failed)} of {len(removals)} objects were not removed; run the command again")


#: Actions in the table after the removal.
_DONE = {"delete": "deleted", "release": "released", "keep": "kept"}


def _question(target: Connection, keep_crds: bool) -> str:
    warning = "" if keep_crds else " and delete ALL PodGroups, Queues and HyperNodes"
    return f"Remove this from {target.server}{warning}?"


async def _planned(connection: Connection, namespace: str, keep_crds: bool) -> list[Removal]:
    from stromboli.install.uninstallation import Uninstallation
    from stromboli.kube.client.client import Client

    with request_errors(connection, "custom resources"):
        async with Client(connection) as client:
            return await Uninstallation(client, namespace, delete_crds=not keep_crds).plan()


async def _remove(
    connection: Connection, namespace: str, keep_crds: bool, timeout: float, removals: Sequence[Removal]
) -> None:
    from stromboli.install.uninstallation import Uninstallation
    from stromboli.kube.client.client import Client

    with request_errors(connection, "custom resources"):
        async with Client(connection) as client:
            await Uninstallation(client, namespace, delete_crds=not keep_crds, timeout=timeout).remove(removals)


def _printout(removals: Sequence[Removal], *, dry_run: bool) -> Printout:
    return Printout(
        tables=lambda wide: _echo_table(removals, dry_run=dry_run, wide=wide),
        data=lambda: {"dryRun": dry_run, "removals": [_data(each) for each in removals]},
        names=lambda: (object_name(_document(each)) for each in removals),
    )


def _echo_table(removals: Sequence[Removal], *, dry_run: bool, wide: bool) -> None:
    table = Table(("ACTION", "KIND", "NAMESPACE", "NAME", "WHAT"), flexible=("WHAT",))
    for each in removals:
        what = f"error: {each.error}" if each.error else ", ".join(each.details) or "-"
        action = each.action if dry_run or each.error else _DONE[each.action]
        table.add(action, each.listed.kind, each.namespace or "-", each.name, what)
    if removals:
        echo_table(table, wide=wide)
    elif not dry_run:
        warn(["note: nothing of Stromboli is in the cluster"])
    if dry_run:
        warn(["note: nothing was removed yet"])


def _document(removal: Removal) -> dict[str, Any]:
    return {
        "apiVersion": removal.listed.api_version,
        "kind": removal.listed.kind,
        "metadata": {"name": removal.name},
    }


def _data(removal: Removal) -> dict[str, Any]:
    data = {
        "action": removal.action,
        "apiVersion": removal.listed.api_version,
        "kind": removal.listed.kind,
        "namespace": removal.namespace,
        "name": removal.name,
        "details": list(removal.details),
        "error": removal.error,
    }
    return {key: value for key, value in data.items() if value}
