"""`stromboli hypernodes`: a description of the network from what nodes say of themselves."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

from stromboli.cli.options.connection import connection_options, connector
from stromboli.cli.output import Failure, echo_json, warn

if TYPE_CHECKING:
    from stromboli import kube
    from stromboli.controllers.discovery_changes import Changes
    from stromboli.controllers.discovery_keys import Key
    from stromboli.kube.client.client import Client
    from stromboli.kube.client.config.connection import Connection
    from stromboli.kube.objects.topology import KubeHyperNode

    Found: TypeAlias = tuple[list[kube.KubeNode], list[KubeHyperNode]]

#: How often the cluster is looked at again when somebody else writes at the same time.
_ATTEMPTS = 5

_EPILOG = """\b
Examples:
  stromboli hypernodes discover -f nodes.yaml
  stromboli hypernodes discover --keys zone,example.com/rack
  stromboli hypernodes discover --keys spine=example.com/switch-2,leaf=example.com/switch-1 --apply

\b
Exit codes:
  0  proposed, or applied
  1  something that was given cannot be used, or the cluster does not answer
  2  wrong usage
"""


@click.group()
def hypernodes() -> None:
    """Describe the network by HyperNodes."""


@hypernodes.command(epilog=_EPILOG)
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="PATH", type=click.Path(allow_dash=True),
    help="Manifests with nodes: a file, a folder, or - for the standard input. May be given several times. Without it "
    "the nodes of a cluster are read.",
)  # fmt: skip
@click.option(
    "--keys", default="zone,block,rack", show_default=True, metavar="KEYS",
    help="Labels of nodes, the outermost first: region, zone, block, rack, host, or any label, as LABEL or TIER=LABEL.",
)  # fmt: skip
@click.option(
    "--apply", "applies", is_flag=True,
    help="Make, change and remove HyperNodes of the cluster instead of printing them. Those that people wrote stay.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
    help="Documents one after the other, or one list.",
)  # fmt: skip
@connection_options
def discover(
    paths: Sequence[str],
    keys: str,
    applies: bool,
    output: str,
    kubeconfig: str | None,
    context: str | None,
    master: str | None,
) -> None:
    """Propose HyperNodes from labels of nodes, or apply them.

    Nodes that have a label in common are in one domain; the labels are given from the outermost on, and each domain
    lies inside those of the labels before. HyperNodes that discovery made before and that are no more wanted are
    removed when it is applied; those that people wrote are never touched.
    """
    if paths and applies:
        raise click.UsageError("--apply reads the nodes of the cluster itself; leave -f out.")
    if not keys:
        raise click.BadParameter("name at least one label", param_hint="--keys")
    read = read_keys(keys, "--keys")
    if paths:
        found = _read(paths)
        _echo(found, read, output)
    elif applies:
        found, changes = asyncio.run(_apply(connector(kubeconfig, context, master), read))
        _warn(found, read, changes)
        _tell(changes)
    else:
        found = asyncio.run(_ask(connector(kubeconfig, context, master)))
        _echo(found, read, output)


def read_keys(text: str, option: str) -> tuple[Key, ...]:
    """The keys that an option names; none where it is empty."""
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
    warn([*map(str, manifests.problems), *manifests.notes])
    objects = manifests.objects
    return (
        [each for each in objects if isinstance(each, kube.KubeNode)],
        [each for each in objects if isinstance(each, KubeHyperNode)],
    )


async def _ask(connect: Callable[[], Connection]) -> Found:
    from stromboli.kube.client.api_errors import RequestFailed
    from stromboli.kube.client.client import Client

    async with Client(connect()) as client:
        try:
            return await _list(client)
        except RequestFailed as error:
            raise Failure(error) from error


async def _apply(connect: Callable[[], Connection], keys: tuple[Key, ...]) -> tuple[Found, Changes]:
    """What somebody else writes meanwhile is looked at again."""
    from stromboli.controllers.discovery_changes import write
    from stromboli.kube.client.api_errors import ApiError, RequestFailed
    from stromboli.kube.client.client import Client

    async with Client(connect()) as client:
        for left in reversed(range(_ATTEMPTS)):
            try:
                found = await _list(client)
                changes = _changes(found, keys)
                await write(client, changes)
            except RequestFailed as error:
                if not left or not (isinstance(error, ApiError) and error.is_conflict):
                    raise Failure(error) from error
            else:
                return found, changes
    raise Failure("HyperNodes are being written all the time by somebody else; try again")


async def _list(client: Client) -> Found:
    from stromboli.kube.client.api_errors import ApiError
    from stromboli.kube.objects.catalogue import HYPER_NODES, NODES

    nodes = await client.list(NODES)
    try:
        return nodes.items, (await client.list(HYPER_NODES)).items
    except ApiError as error:
        if not error.is_missing:
            raise
        remedy = "stromboli manifests --only crds | kubectl apply --server-side -f -"
        raise Failure(f"the cluster does not know HyperNodes; install the kinds first: {remedy}") from error


def _changes(found: Found, keys: tuple[Key, ...]) -> Changes:
    """What discovery leads to. Where nothing is found, nothing is proposed: nobody wants all domains removed because
    of a label that was mistyped.
    """
    from stromboli.controllers.discovered_hypernodes import hyper_nodes_of
    from stromboli.controllers.discovery_changes import changes_to

    nodes, existing = found
    wanted = hyper_nodes_of([node.metadata.labels or {} for node in nodes], keys)
    if not wanted:
        names = ", ".join(key.label for key in keys)
        raise Failure(f"none of {len(nodes)} nodes has any of the labels {names}; name others with --keys")
    return changes_to(existing, wanted)


def _warn(found: Found, keys: tuple[Key, ...], changes: Changes) -> None:
    from stromboli.controllers.discovered_hypernodes import is_discovered

    nodes, existing = found
    for key in keys:
        if not any((node.metadata.labels or {}).get(key.label) for node in nodes):
            warn([f"no node has the label {key.label}, so there are no domains of tier {key.tier_name}"])
    others = sorted(each.key for each in existing if not is_discovered(each))
    if others:
        warn([f"HyperNodes that people wrote stay as they are: {', '.join(others)}"])
    warn(f"HyperNode {name} was written by somebody; it stands for the domain of that name" for name in changes.taken)


def _echo(found: Found, keys: tuple[Key, ...], output: str) -> None:
    """All that discovery wants, whether it is there already or not."""
    from stromboli.controllers.discovered_hypernodes import as_manifest
    from stromboli.kube.manifests.yaml import dump_documents

    changes = _changes(found, keys)
    _warn(found, keys, changes)
    documents = [as_manifest(each) for each in changes.wanted]
    if output == "json":
        echo_json({"apiVersion": "v1", "kind": "List", "items": documents})
    else:
        click.echo(dump_documents(documents), nl=False)


def _tell(changes: Changes) -> None:
    told = {"made": changes.made, "changed": changes.changed, "removed": changes.removed}
    for verb, those in told.items():
        for each in those:
            click.echo(f"HyperNode {each.key} {verb}")
    counts = [f"{len(those)} {verb}" for verb, those in told.items()]
    click.echo(f"{', '.join(counts)}, {len(changes.same)} as they should be.")
