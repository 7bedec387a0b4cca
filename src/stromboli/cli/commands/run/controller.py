"""`stromboli controller`: the controllers of Volcano's kinds and of plain pods."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from stromboli.cli.commands.installation.hypernodes import read_keys
from stromboli.cli.options.connection import (
    certificate_options,
    connection_options,
    connector,
    endpoint_options,
    log_options,
    tls_of,
)
from stromboli.cli.options.controllers import controllers_option, read_controllers
from stromboli.cli.options.election import election_of, election_options
from stromboli.cli.options.settings import scheduler_name_option, setting
from stromboli.cli.output import Failure

_EPILOG = """\b
Examples:
  stromboli controller --kubeconfig ~/.kube/config
  stromboli controller --leader-elect=false --log-format json
  stromboli controller --discover-hypernodes zone,block,rack
  stromboli controller --controllers '*,-queue'

\b
Exit codes:
  0  stopped by a signal
  1  invalid input
  2  wrong usage
  5  leadership lost
"""


@click.command(epilog=_EPILOG)
@connection_options
@scheduler_name_option("Create groups for pods with this scheduler name. Repeatable.", setting)
@setting(
    "--default-queue",
    default="default",
    metavar="NAME",
    help="The queue of groups without a queue; created if missing.",
)
@controllers_option(setting)
@endpoint_options("127.0.0.1:8083", "127.0.0.1:11252")
@certificate_options
@setting(
    "--discover-hypernodes", default="", metavar="KEYS",
    help="Maintain HyperNodes from these node labels, as with `stromboli hypernodes discover --keys`.",
)  # fmt: skip
@election_options("stromboli-controller")
@log_options
def controller(**options: Any) -> None:
    """Run Volcano Jobs, create PodGroups, and maintain queues and HyperNodes, until stopped."""
    from stromboli.controllers.process import ControllerSettings, LeadershipLost, run_controllers
    from stromboli.observability.logs import set_up_logs
    from stromboli.observability.process import ExitStatus
    from stromboli.serving.address import ListenError
    from stromboli.serving.tls import InvalidCertificate

    connect = connector(options)
    settings = ControllerSettings(
        connect=connect,
        scheduler_names=options["scheduler_names"],
        default_queue=options["default_queue"],
        election=election_of(options, connect().namespace),
        metrics_address=options["listen_address"],
        health_address=options["healthz_address"],
        always_allowed_paths=options["authorization_always_allow_paths"],
        tls=tls_of(options),
        enabled=read_controllers(options["controllers"], options["discover_hypernodes"]),
        discovery_keys=read_keys(options["discover_hypernodes"], "--discover-hypernodes"),
    )
    set_up_logs(log_format=options["log_format"], level=options["log_level"])
    try:
        asyncio.run(run_controllers(settings))
    except (ListenError, InvalidCertificate) as error:
        raise Failure(error) from error
    except LeadershipLost as error:
        Failure(error).show()
        sys.exit(ExitStatus.LEADERSHIP_LOST)
