"""`stromboli manifests`: the manifests of an installation, as YAML for kubectl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.commands.installation.hypernodes import read_keys
from stromboli.cli.options.connection import namespace_option
from stromboli.cli.options.controllers import controllers_option, read_controllers
from stromboli.cli.options.settings import conf_option, output_option, plugin_option, scheduler_name_option
from stromboli.cli.output import warn
from stromboli.cli.policies import parse_policy, read_configuration_text, read_registry
from stromboli.controllers.names import ALL

if TYPE_CHECKING:
    from stromboli.install.installation import Installation

PARTS = ("namespace", "crds", "roles", "network-policies", "configuration", "workloads")

_PORT = click.IntRange(1, 65535)

_EPILOG = """\b
Examples:
  stromboli manifests --image registry.example.com/stromboli:0.1.0 \\
    | kubectl apply --server-side -f -
  stromboli manifests --scheduler-name volcano \\
    --conf examples/contention/scheduler.conf > install.yaml
  stromboli manifests -o table
  stromboli manifests --only crds | kubectl apply --server-side -f -
  stromboli manifests --without-crds | kubectl diff -f -

\b
Exit codes:
  0  written
  1  invalid input
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@namespace_option
@click.option("--image", default="", metavar="IMAGE", help="The image; default: stromboli with this version.")
@click.option(
    "--replicas", type=click.IntRange(1, 9), default=2, show_default=True,
    help="Replicas of each process. One is active; the others are on standby.",
)  # fmt: skip
@scheduler_name_option("Schedule pods with this scheduler name. Repeatable.")
@conf_option()
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
@click.option(
    "--evict-by-delete", is_flag=True, help="Evict by deleting pods, ignoring disruption budgets; adds the permission."
)
@click.option(
    "--discover-hypernodes", default="", metavar="KEYS",
    help="Maintain HyperNodes from these node labels; adds the permissions.",
)  # fmt: skip
@click.option(
    "--with-binder", is_flag=True, help="Bind pods in a separate process, from bind requests of the scheduler."
)
@click.option("--with-console", is_flag=True, help="Serve the web console.")
@click.option(
    "--console-host", "console_hosts", multiple=True, metavar="NAME",
    help="A name under which browsers reach the console, such as that of an Ingress. Repeatable.",
)  # fmt: skip
@click.option("--share-gpus", is_flag=True, help="Enable GPU sharing; adds the permissions for reservation pods.")
@click.option(
    "--history-storage", default="", metavar="SIZE",
    help="Keep the history on a PersistentVolumeClaim of this size; needs --replicas 1. Default: it ends with the pod.",
)  # fmt: skip
@click.option(
    "--history-secret",
    default="",
    metavar="NAME",
    help="Record the history on the PostgreSQL server of this Secret, whose key dsn is its address.",
)
@controllers_option()
@click.option("--without-controllers", is_flag=True, help="Omit the controllers, where those of Volcano run.")
@click.option(
    "--without-visibility",
    is_flag=True,
    help="Omit the answers of the scheduler to people who may not read the cluster.",
)
@click.option("--without-crds", is_flag=True, help="Omit the CRDs, for a cluster that has those of Volcano.")
@click.option("--without-network-policies", is_flag=True, help="Omit the NetworkPolicies.")
@click.option(
    "--metrics-from", default="stromboli.dev/metrics=enabled", metavar="KEY=VALUE", show_default=True,
    help="The label of namespaces from which metrics may be read; empty for all.",
)  # fmt: skip
@click.option(
    "--api-server-port", "api_server_ports", multiple=True, type=_PORT, default=(443, 6443), show_default=True,
    help="Allow connections of all processes to this port. Repeatable.",
)  # fmt: skip
@click.option(
    "--scheduler-egress-port", "scheduler_egress_ports", multiple=True, type=_PORT,
    help="Allow connections of the scheduler to this port, of a metrics source or an extender. Repeatable.",
)  # fmt: skip
@click.option(
    "--controller-egress-port", "controller_egress_ports", multiple=True, type=_PORT,
    help="Allow connections of the controllers to this port, of pods that JobFlows probe. Repeatable.",
)  # fmt: skip
@click.option("--only", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part. Repeatable.")
@output_option("yaml")
def manifests(**options: Any) -> None:
    """Print the manifests of an installation, for kubectl.

    They include the namespace, the CRDs, service accounts with minimal permissions, NetworkPolicies, the
    configuration, and the processes. The command does not connect to a cluster.
    """
    from stromboli.cli.text.objects import objects_printout
    from stromboli.install.documents import installation_documents

    documents = installation_documents(_installation(options), _parts(options))
    objects_printout(documents).echo(options["output"])


def _parts(options: dict[str, Any]) -> list[str]:
    omitted = [part for part in ("crds", "network-policies") if options[f"without_{part.replace('-', '_')}"]]
    for part in omitted:
        if part in options["parts"]:
            raise click.UsageError(f"--without-{part} and --only {part} contradict each other; drop one of them.")
    return [part for part in options["parts"] or PARTS if part not in omitted]


def _installation(options: dict[str, Any]) -> Installation:
    from stromboli.install.installation import IMAGE, Installation, InvalidChoice

    read_keys(options["discover_hypernodes"], "--discover-hypernodes")
    configuration = {"configuration": _configuration(options)} if options["conf"] else {}
    try:
        return Installation(
            namespace=options["namespace"],
            image=options["image"] or IMAGE,
            replicas=options["replicas"],
            scheduler_names=tuple(dict.fromkeys(options["scheduler_names"])),
            evict_by_delete=options["evict_by_delete"],
            discover_hypernodes=options["discover_hypernodes"],
            controllers=_controllers(options),
            binder=options["with_binder"],
            share_gpus=options["share_gpus"],
            console=options["with_console"],
            console_hosts=tuple(dict.fromkeys(options["console_hosts"])),
            history_storage=options["history_storage"],
            history_secret=options["history_secret"],
            visibility=not options["without_visibility"],
            metrics_from=options["metrics_from"],
            api_server_ports=tuple(dict.fromkeys(options["api_server_ports"])),
            scheduler_egress_ports=tuple(dict.fromkeys(options["scheduler_egress_ports"])),
            controller_egress_ports=tuple(dict.fromkeys(options["controller_egress_ports"])),
            **configuration,
        )
    except InvalidChoice as error:
        raise click.BadParameter(str(error), param_hint=error.option) from error


def _controllers(options: dict[str, Any]) -> tuple[str, ...]:
    if not options["without_controllers"]:
        return read_controllers(options["controllers"], options["discover_hypernodes"])
    for name in ("--discover-hypernodes", "--controllers"):
        if options[name.removeprefix("--").replace("-", "_")] not in ("", ALL):
            raise click.UsageError(f"{name} is an option of the controllers; drop --without-controllers.")
    return ()


def _configuration(options: dict[str, Any]) -> str:
    """Return the text of the policy, after validating it."""
    text = read_configuration_text(options["conf"])
    warn(parse_policy(text, read_registry(options["plugins"]), options["conf"]).warnings)
    return text
