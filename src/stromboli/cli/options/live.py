"""Options of commands that read a living cluster instead of manifests, or beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.connection import connection_options
from stromboli.cli.options.settings import option_group

if TYPE_CHECKING:
    from stromboli.planner.live.installation import InstallationName


class _Installation(click.ParamType["InstallationName"]):
    """`NAMESPACE`, or `NAMESPACE/NAME`."""

    name = "installation"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> InstallationName:
        from stromboli.planner.live.installation import InstallationName

        if isinstance(value, InstallationName):
            return value
        try:
            return InstallationName.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


installation_option = click.option(
    "--installation", type=_Installation(), default="stromboli-system/stromboli", show_default=True,
    metavar="NAMESPACE[/NAME]", envvar="STROMBOLI_INSTALLATION",
    help="The installation of the scheduler, whose policy and options apply.",
)  # fmt: skip

#: The options of `LiveOptions`.
live_options = option_group(
    connection_options,
    click.option(
        "-n", "--namespace", default="", metavar="NAME",
        help="The namespace of objects in files that name none, and of the jobs that are shown. Default: that of the "
        "context for files, and all for jobs.",
    ),
    installation_option,
    click.option("--offline", is_flag=True, help="Do not connect to a cluster: the files are all there is."),
)  # fmt: skip

#: The parameters that choose a cluster: with one of them, a command connects in any case.
CLUSTER_PARAMETERS = ("kubeconfig", "context", "master")
#: The parameters of `live_options`.
LIVE_PARAMETERS = (*CLUSTER_PARAMETERS, "namespace", "installation", "offline")
