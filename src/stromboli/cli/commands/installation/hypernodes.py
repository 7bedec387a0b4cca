"""`stromboli hypernodes`: HyperNodes from node labels."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import ParameterSource

from stromboli.cli.options.connection import connection_options, connector, request_errors
from stromboli.cli.options.settings import output_option, paths_option, reject_options
from stromboli.cli.output import Failure, object_name, warn
from stromboli.cli.text.tables import Table

if TYPE_CHECKING:
    from stromboli import kube
    from stromboli.controllers.discovery_changes import HyperNodeChanges
    from stromboli.controllers.discovery_keys import Key
    from stromboli.kube.client.client import Client
    from stromboli.kube.client.config.connection import Connection
    from stromboli.kube.objects.topology import KubeHyperNode

    Found: TypeAlias = tuple[list[kube.KubeNode], list[KubeHyperNode]]

#: Attempts after conflicts with concurrent writes.
_ATTEMPTS = 5

_EPILOG = """\b
Examples:
  stromboli hypernodes discover -f examples/topology/nodes.yaml --keys rack
  stromboli hypernodes discover --keys zone,example.com/rack -o table
  stromboli hypernodes discover --apply \\
    --keys spine=example.com/switch-2,leaf=example.com/switch-1

\b
Exit codes:
  0  proposed, or applied
  1  invalid input, or the cluster is unreachable
  2  wrong usage
"""


@click.group(epilog=_EPILOG)
def hypernodes() -> None:
    """Describe the network by HyperNodes."""


@hypernodes.command(epilog=_EPILOG)
@paths_option("Default: the nodes of the cluster.")
@click.option(
    "--keys", default="zone,block,rack", show_default=True, metavar="KEYS",
    help="Node labels, the outermost first: region, zone, block, rack, host, or any label, as LABEL or TIER=LABEL. "
    "A colon separates topologies.",
)  # fmt: skip
@click.option(
    "--apply", "applies", is_flag=True,
    help="Create, update and delete HyperNodes of the cluster instead of printing them. Manually created ones stay.",
)  # fmt: skip
@output_option("yaml")
@connection_options
def discover(paths: Sequence[str], keys: str, applies: bool, output: str, **connection: str | None) -> None:
    """Propose HyperNodes from node labels, or apply them.

    Nodes with the same label value are in one domain; labels are listed from the outermost to the innermost, and each
    domain is inside those of the labels before. With --apply, obsolete HyperNodes of an earlier discovery are deleted;
    manually created ones are never changed.
    """
    if paths and applies:
        raise click.UsageError("--apply reads the nodes of the cluster itself; leave -f out.")
    if not keys:
        raise click.BadParameter("name at least one label", param_hint="--keys")
    read = read_keys(keys, "--keys")
    if paths:
        reject_options(connection, "with -f")
        _echo(_read(paths), read, output)
    elif applies:
        found, changes = asyncio.run(_apply(connector(connection), read))
        _warn(found, read, changes)
        source = click.get_current_context().get_parameter_source("output")
        _report(changes) if source is ParameterSource.DEFAULT else _echo_objects(changes, output)
    else:
        _echo(asyncio.run(_ask(connector(connection))), read, output)


def read_keys(text: str, option: str) -> tuple[Key, ...]:
    """Parse the label keys of an option; the empty string has none."""
    from stromboli.controllers.discovery_keys import DiscoveryKeyError, parse_keys

    try:
        return parse_keys(text) if text else ()
    except DiscoveryKeyError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _read(paths: Sequence[str]) -> Found:
    from stromboli import kube
    from stromboli.kube.manifests.manifests import ManifestError, read_manifests
    from stromboli.kube.objects.topology import KubeHyperNode

    try:
        manifests = read_manifests(paths, sys.stdin)
    except ManifestError as error:
        raise Failure(error) from error
    warn(manifests.warnings)
    objects = manifests.objects
    return (
        [each for each in objects if isinstance(each, kube.KubeNode)],
        [each for each in objects if isinstance(each, KubeHyperNode)],
    )


async def _ask(connect: Callable[[], Connection]) -> Found:
    from stromboli.kube.client.client import Client

    connection = connect()
    with request_errors(connection, "HyperNodes"):
        async with Client(connection) as client:
            return await _list(client)


async def _apply(connect: Callable[[], Connection], keys: tuple[Key, ...]) -> tuple[Found, HyperNodeChanges]:
    """Apply the changes, and retry after conflicts with concurrent writes. What an attempt wrote before its conflict is
    part of the changes.
    """
    from stromboli.controllers.discovery_changes import write
    from stromboli.kube.client.api_errors import ApiError
    from stromboli.kube.client.client import Client

    connection = connect()
    with request_errors(connection, "HyperNodes"):
        async with Client(connection) as client:
            before: list[KubeHyperNode] | None = None
            for _ in range(_ATTEMPTS):
                found = await _list(client)
                changes = _changes(found, keys)
                before = found[1] if before is None else before
                try:
                    await write(client, changes)
                except ApiError as error:
                    if not error.is_conflict:
                        raise
                else:
                    return found, _changes((found[0], before), keys)
    raise Failure("conflicts with concurrent writes of HyperNodes; try again")


async def _list(client: Client) -> Found:
    from stromboli.kube.objects.catalogue import HYPER_NODES, NODES

    return (await client.list(NODES)).items, (await client.list(HYPER_NODES)).items


def _changes(found: Found, keys: tuple[Key, ...]) -> HyperNodeChanges:
    """Return the changes of a discovery. No match is an error: a misspelt label must not delete all domains."""
    from stromboli.controllers.discovered_hypernodes import hyper_nodes_of
    from stromboli.controllers.discovery_changes import changes_to

    nodes, existing = found
    wanted = hyper_nodes_of([node.metadata.labels or {} for node in nodes], keys)
    if not wanted:
        names = ", ".join(key.label for key in keys)
        raise Failure(f"none of {len(nodes)} nodes has any of the labels {names}; choose others with --keys")
    return changes_to(existing, wanted)


def _warn(found: Found, keys: tuple[Key, ...], changes: HyperNodeChanges) -> None:
    from stromboli.controllers.discovered_hypernodes import is_discovered

    nodes, existing = found
    for key in keys:
        if not any((node.metadata.labels or {}).get(key.label) for node in nodes):
            warn([f"no node has the label {key.label}, so there are no domains of tier {key.tier_name}"])
    others = sorted(each.key for each in existing if not is_discovered(each))
    if others:
        warn([f"manually created HyperNodes stay unchanged: {', '.join(others)}"])
    warn(f"HyperNode {name} was created manually; it is used for the domain of that name" for name in changes.taken)


def _echo(found: Found, keys: tuple[Key, ...], output: str) -> None:
    """Print all discovered HyperNodes, existing ones included."""
    changes = _changes(found, keys)
    _warn(found, keys, changes)
    _echo_objects(changes, output)


def _echo_objects(changes: HyperNodeChanges, output: str) -> None:
    from stromboli.cli.text.objects import objects_printout
    from stromboli.controllers.discovered_hypernodes import as_manifest

    objects_printout([as_manifest(each) for each in changes.wanted], _table).echo(output)


def _table(documents: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(("NAME", "TIER", "MEMBERS", "SELECTORS"), right=("MEMBERS",), wide=("SELECTORS",))
    for document in documents:
        spec = document["spec"]
        selectors = [json.dumps(member["selector"], separators=(",", ":")) for member in spec["members"]]
        tier = f"{spec['tier']} ({spec['tierName']})"
        table.add(document["metadata"]["name"], tier, str(len(selectors)), " ".join(selectors))
    return table


def _report(changes: HyperNodeChanges) -> None:
    """Print what was done with each HyperNode, in the format of `kubectl apply`."""
    from stromboli.controllers.discovered_hypernodes import as_manifest

    groups = {
        "created": changes.made, "configured": changes.changed, "unchanged": changes.same, "deleted": changes.removed
    }  # fmt: skip
    for verb, those in groups.items():
        for each in those:
            click.echo(f"{object_name(as_manifest(each))} {verb}")
