"""`stromboli manifests`: everything that belongs into a cluster, as YAML for kubectl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.commands.hypernodes import read_keys
from stromboli.cli.output import Failure, echo_json
from stromboli.cli.scenario import read_configuration_text, read_registry

if TYPE_CHECKING:
    from stromboli.install.installation import Installation

PARTS = ("namespace", "crds", "roles", "configuration", "workloads")

_EPILOG = """\b
Examples:
  stromboli manifests --image registry.example.com/stromboli:0.1.0 | kubectl apply --server-side -f -
  stromboli manifests --scheduler-name volcano --conf volcano-scheduler.conf > install.yaml
  stromboli manifests --only crds | kubectl apply --server-side -f -
  stromboli manifests --without-crds | kubectl diff -f -

\b
Exit codes:
  0  written
  1  the configuration cannot be used
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.option(
    "-n", "--namespace", default="stromboli-system", show_default=True, metavar="NAME",
    help="Where the processes live.",
)  # fmt: skip
@click.option("--image", default="", metavar="IMAGE", help="The image that they run; else stromboli, of this version.")
@click.option(
    "--replicas", type=click.IntRange(1, 9), default=2, show_default=True,
    help="Of each process. One of them works; the others take over.",
)  # fmt: skip
@click.option(
    "--scheduler-name", "scheduler_names", multiple=True, default=("stromboli", "volcano"), metavar="NAME",
    show_default=True, help="Schedule pods that name this scheduler. May be given several times.",
)  # fmt: skip
@click.option("--conf", default="", metavar="FILE", help="The policy: a volcano-scheduler.conf, or - for the input.")
@click.option(
    "--evict-by-delete", is_flag=True, help="Evict by deleting pods, past disruption budgets, with the right to do so."
)
@click.option(
    "--discover-hypernodes", default="", metavar="KEYS",
    help="Keep HyperNodes up to date with these labels of nodes, with the right to do so.",
)  # fmt: skip
@click.option(
    "--with-binder", is_flag=True, help="Let a process of its own bind the pods, from bind requests of the scheduler."
)
@click.option("--share-gpus", is_flag=True, help="Let whoever binds pods hold GPUs that pods share.")
@click.option("--without-crds", is_flag=True, help="For a cluster that has the kinds of Volcano already.")
@click.option(
    "--only", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part. May be given several times."
)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
    help="Documents one after the other, or one list.",
)  # fmt: skip
def manifests(**options: Any) -> None:
    """Print the manifests of an installation, for kubectl.

    They are all that a cluster needs: the namespace, the kinds (CRDs), accounts with the least rights that will do, the
    configuration, and the processes. Nothing is sent anywhere.
    """
    from stromboli.install.documents import installation_documents
    from stromboli.kube.manifests.yaml import dump_documents

    documents = installation_documents(_installation(options), _parts(options))
    if options["output"] == "json":
        echo_json({"apiVersion": "v1", "kind": "List", "items": documents})
    else:
        click.echo(dump_documents(documents), nl=False)


def _parts(options: dict[str, Any]) -> list[str]:
    if not options["without_crds"]:
        return list(options["parts"])
    if "crds" in options["parts"]:
        raise click.UsageError("--without-crds and --only crds leave nothing to print; drop one of them.")
    return [part for part in options["parts"] or PARTS if part != "crds"]


def _installation(options: dict[str, Any]) -> Installation:
    from stromboli.install.installation import IMAGE, Installation, InvalidChoice

    read_keys(options["discover_hypernodes"], "--discover-hypernodes")
    given = {"configuration": _configuration(options["conf"])} if options["conf"] else {}
    try:
        return Installation(
            namespace=options["namespace"],
            image=options["image"] or IMAGE,
            replicas=options["replicas"],
            scheduler_names=tuple(dict.fromkeys(options["scheduler_names"])),
            evict_by_delete=options["evict_by_delete"],
            discover_hypernodes=options["discover_hypernodes"],
            binder=options["with_binder"],
            share_gpus=options["share_gpus"],
            **given,
        )
    except InvalidChoice as error:
        raise click.BadParameter(str(error), param_hint=error.option) from error


def _configuration(file: str) -> str:
    """The text of the file. What the scheduler could not read is refused here, where somebody is looking."""
    from stromboli.core.config.configuration import ConfigurationError, parse_configuration

    text = read_configuration_text(file)
    try:
        parse_configuration(text, read_registry(()), "standard input" if file == "-" else file)
    except ConfigurationError as error:
        raise Failure(error) from error
    return text
