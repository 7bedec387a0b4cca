"""`stromboli binder`: executes bind requests."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.binder_plugins import binder_plugin_options, load_binder_plugins
from stromboli.cli.options.connection import (
    api_rate_options,
    certificate_options,
    connection_options,
    connector,
    endpoint_options,
    log_options,
    tls_of,
)
from stromboli.cli.options.election import election_of, election_options
from stromboli.cli.options.settings import DURATION, Duration, setting
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.binding.process.process import BinderSettings

_EPILOG = """\b
Examples:
  stromboli binder --kubeconfig ~/.kube/config
  stromboli binder --bind-workers 128 --binds-per-node 8 \\
    --listen-address :8080
  stromboli binder --plugin example.binding:Licences \\
    --plugin-option licences.namespace=shared
  STROMBOLI_LEADER_ELECT=false stromboli binder --log-format json

\b
Signals:
  TERM, INT  complete the binds in flight, release the lease, exit

\b
Exit codes:
  0  stopped by a signal
  1  invalid input, or the binder failed
  2  wrong usage
  5  leadership lost
"""


@click.command(epilog=_EPILOG)
@connection_options
@api_rate_options
@setting("--request-workers", type=click.IntRange(1, 1024), default=16, help="Concurrent bind requests.")
@setting("--bind-workers", type=click.IntRange(1, 1024), default=64, help="Concurrent bindings.")
@setting("--binds-per-node", type=click.IntRange(1, 1024), default=16, help="Concurrent bindings per node.")
@setting("--min-retry-delay", type=Duration(0.01), default="500ms", help="The backoff after the first failed attempt.")
@setting("--max-retry-delay", type=Duration(0.01), default="30s", help="The maximum backoff.")
@setting("--event-qps", type=click.FloatRange(min=0), default=50.0, help="Events per second; 0: no limit.")
@setting("--grace-period", type=DURATION, default="10s", help="How long a stop waits for binds in flight.")
@binder_plugin_options("Your own plugin, called after the others. Repeatable.", "plugin")
@election_options("stromboli-binder")
@endpoint_options("127.0.0.1:8082", "127.0.0.1:11253")
@certificate_options
@log_options
def binder(**options: Any) -> None:
    """Execute the bind requests of schedulers, until stopped. One binder serves the whole cluster."""
    from stromboli.binding.process.process import BinderProcess
    from stromboli.observability.logs import set_up_logs
    from stromboli.serving.address import ListenError
    from stromboli.serving.tls import InvalidCertificate

    settings = _settings(options)
    set_up_logs(log_format=options["log_format"], level=options["log_level"])
    try:
        sys.exit(asyncio.run(BinderProcess(settings).run()))
    except (ListenError, InvalidCertificate) as error:
        raise Failure(error) from error


def _settings(options: Mapping[str, Any]) -> BinderSettings:
    from stromboli.binding.process.process import BinderSettings
    from stromboli.binding.requests.wiring import BinderOptions

    if options["max_retry_delay"] < options["min_retry_delay"]:
        raise click.UsageError("--max-retry-delay must not be shorter than --min-retry-delay.")
    plugins = load_binder_plugins(options)
    connect = connector(options)
    return BinderSettings(
        connect=connect,
        plugins=plugins,
        options=BinderOptions(
            request_workers=options["request_workers"],
            bind_workers=options["bind_workers"],
            binds_per_node=options["binds_per_node"],
            min_retry_delay=options["min_retry_delay"],
            max_retry_delay=options["max_retry_delay"],
            event_rate=options["event_qps"],
            grace=options["grace_period"],
        ),
        election=election_of(options, connect().namespace),
        metrics_address=options["listen_address"],
        health_address=options["healthz_address"],
        always_allowed_paths=options["authorization_always_allow_paths"],
        tls=tls_of(options),
        api_rate=options["kube_api_qps"],
        api_burst=options["kube_api_burst"],
    )
