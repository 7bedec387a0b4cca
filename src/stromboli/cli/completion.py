"""Completion of names from the cluster: jobs, queues, nodes, namespaces, priority classes. Whatever fails completes
nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

#: A shell that waits longer than this for names is worse than none.
_MAX_SECONDS = 2.0

Completer = Callable[[click.Context, click.Parameter, str], list[str]]
#: Lists names with a client, for a namespace.
Listing = Callable[["Client", str], Awaitable[Iterable[str]]]


def _completer(listing: Listing) -> Completer:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        try:
            names = set(asyncio.run(asyncio.wait_for(_listed(listing, context.params), _MAX_SECONDS)))
        except Exception:  # an error would be typed into the command line
            return []
        return sorted(name for name in names if name.startswith(incomplete))

    return complete


async def _listed(listing: Listing, options: dict[str, Any]) -> Iterable[str]:
    from stromboli.kube.client.client import Client
    from stromboli.kube.client.config.connect import connect

    if options.get("paths"):  # the names are those of manifests
        return ()
    connection = connect(*(options.get(name) for name in ("kubeconfig", "context", "master")))
    async with Client(connection) as client:
        return await listing(client, options.get("namespace") or connection.namespace)


async def _jobs(client: Client, namespace: str) -> Iterable[str]:
    from stromboli.cli.suspended_jobs import suspended_volcano_jobs
    from stromboli.kube.objects.catalogue import POD_GROUPS
    from stromboli.workloads.groups import title_of

    groups = (await client.list(POD_GROUPS, namespace=namespace)).items
    return map(title_of, [*groups, *await suspended_volcano_jobs(client, namespace)])


async def _queues(client: Client, namespace: str) -> Iterable[str]:
    from stromboli.kube.objects.catalogue import QUEUES

    return [queue.metadata.name for queue in (await client.list(QUEUES)).items]


async def _nodes(client: Client, namespace: str) -> Iterable[str]:
    from stromboli.kube.objects.catalogue import NODES

    return [node.metadata.name for node in (await client.list(NODES)).items]


async def _namespaces(client: Client, namespace: str) -> Iterable[str]:
    from stromboli.kube.objects.catalogue import NAMESPACES

    return [each.metadata.name for each in (await client.list(NAMESPACES)).items]


async def _priority_classes(client: Client, namespace: str) -> Iterable[str]:
    from stromboli.kube.objects.catalogue import PRIORITY_CLASSES

    return [each.metadata.name for each in (await client.list(PRIORITY_CLASSES)).items]


complete_jobs, complete_queues = _completer(_jobs), _completer(_queues)
complete_nodes, complete_namespaces = _completer(_nodes), _completer(_namespaces)
complete_priority_classes = _completer(_priority_classes)


def main() -> None:
    """Complete for kubectl, which calls `kubectl_complete-stromboli` with the words of the command line.

    The answer is a name per line, and a last line with the directive not to complete files.
    """
    import sys

    from click.shell_completion import ShellComplete

    from stromboli.cli import main as command

    words = sys.argv[1:] or [""]
    found = ShellComplete(command, {}, "kubectl stromboli", "").get_completions(words[:-1], words[-1])
    for item in found:
        click.echo(item.value)
    click.echo(":4")
