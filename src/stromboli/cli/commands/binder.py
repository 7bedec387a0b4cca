"""`stromboli binder`: carries out bind requests."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.addresses import address
from stromboli.cli.options.connection import connection_options, connector, log_options
from stromboli.cli.options.durations import DURATION, Duration
from stromboli.cli.options.election import election_of, election_options
from stromboli.cli.options.settings import setting
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.binding.process.process import BinderSettings

_EPILOG = """\b
Examples:
  stromboli binder --kubeconfig ~/.kube/config
  stromboli binder --bind-workers 128 --binds-per-node 8 --listen-address :8080
  stromboli binder --plugin example.binding:Licences --plugin-option licences.namespace=shared
  STROMBOLI_LEADER_ELECT=false stromboli binder --log-format json

\b
Signals:
  TERM, INT  finish the binds that are under way, give the lease back, end

\b
Exit codes:
  0  stopped by a signal
  1  something that was given cannot be used, or the binder failed
  2  wrong usage
  4  leadership was lost
"""


@click.command(epilog=_EPILOG)
@connection_options
@setting("--kube-api-qps", type=click.FloatRange(min=0), default=2000.0, help="Requests per second; 0: no limit.")
@setting("--kube-api-burst", type=click.IntRange(min=0), default=2000, help="Requests at once beyond that.")
@setting("--request-workers", type=click.IntRange(1, 1024), default=16, help="Bind requests worked on at a time.")
@setting("--bind-workers", type=click.IntRange(1, 1024), default=64, help="Bindings at a time.")
@setting("--binds-per-node", type=click.IntRange(1, 1024), default=16, help="Bindings to one node at a time.")
@setting("--shortest-pause", type=Duration(0.01), default="500ms", help="The pause after a first failed attempt.")
@setting("--longest-pause", type=Duration(0.01), default="30s", help="Pauses double up to this.")
@setting("--event-qps", type=click.FloatRange(min=0), default=50.0, help="Events per second; 0: no limit.")
@setting("--grace-period", type=DURATION, default="10s", help="How long a stop waits for binds under way.")
@click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
    help="A plugin of your own, asked after the others. May be given several times.",
)  # fmt: skip
@click.option(
    "--plugin-option", "plugin_options", multiple=True, metavar="PLUGIN.OPTION=VALUE",
    help="An option of a plugin. May be given several times.",
)  # fmt: skip
@click.option(
    "--without-plugin", "left_out", multiple=True, metavar="PLUGIN",
    help="Leave out a plugin. May be given several times.",
)  # fmt: skip
@election_options("stromboli-binder")
@address("--listen-address", "127.0.0.1:8082", "/metrics; empty for none.")
@address("--healthz-address", "127.0.0.1:11253", "/healthz, /livez and /readyz; empty for none.")
@log_options
def binder(**options: Any) -> None:
    """Carry out the bind requests of schedulers, until stopped. One binder serves all of a cluster."""
    from stromboli.binding.plugins.loading import UnusablePlugin
    from stromboli.binding.process.process import BinderProcess
    from stromboli.observability.endpoints import ListenError
    from stromboli.observability.logs import set_up_logs

    try:
        settings = _settings(options)
        set_up_logs(form=options["log_format"], level=options["log_level"])
        sys.exit(asyncio.run(BinderProcess(settings).run()))
    except (UnusablePlugin, ListenError) as error:
        raise Failure(error) from error


def _settings(given: Mapping[str, Any]) -> BinderSettings:
    from stromboli.binding.plugins.built_in import BUILT_IN
    from stromboli.binding.plugins.loading import load_plugins, read_options
    from stromboli.binding.process.process import BinderSettings
    from stromboli.binding.requests.options import BinderOptions

    if given["longest_pause"] < given["shortest_pause"]:
        raise click.UsageError("--longest-pause must not be shorter than --shortest-pause.")
    plugins = load_plugins(BUILT_IN, given["plugins"], read_options(given["plugin_options"]), without=given["left_out"])
    connect = connector(given["kubeconfig"], given["context"], given["master"])
    return BinderSettings(
        connect=connect,
        plugins=plugins,
        options=BinderOptions(
            request_workers=given["request_workers"],
            bind_workers=given["bind_workers"],
            binds_per_node=given["binds_per_node"],
            shortest_pause=given["shortest_pause"],
            longest_pause=given["longest_pause"],
            event_rate=given["event_qps"],
            grace=given["grace_period"],
        ),
        election=election_of(given, connect().namespace),
        metrics_address=given["listen_address"],
        health_address=given["healthz_address"],
        api_rate=given["kube_api_qps"],
        api_burst=given["kube_api_burst"],
    )
