"""Options for the connection to a cluster, for logging and for endpoints, shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import Command, HttpPaths, address, option_group, setting
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.kube.client.config.connection import Connection
    from stromboli.serving.tls import TlsSettings

#: The options that choose a kubeconfig entry.
kubeconfig_options = option_group(
    click.option(
        "--kubeconfig", envvar="STROMBOLI_KUBECONFIG", metavar="FILE", type=click.Path(),
        help="The kubeconfig. Default: $KUBECONFIG, ~/.kube/config, or the service account of the pod.",
    ),
    click.option("--context", envvar="STROMBOLI_CONTEXT", metavar="NAME", help="The kubeconfig context."),
)  # fmt: skip

connection_options = option_group(
    kubeconfig_options,
    click.option("--master", envvar="STROMBOLI_MASTER", metavar="URL", help="Override the address of the API server."),
)

#: The namespace of an installation, in which its processes run.
namespace_option = click.option(
    "-n", "--namespace", default="stromboli-system", show_default=True, metavar="NAME",
    help="The namespace of the processes.",
)  # fmt: skip

log_options = option_group(
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        envvar="STROMBOLI_LOG_FORMAT", help="The log format.",
    ),
    click.option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
        envvar="STROMBOLI_LOG_LEVEL", help="The minimum log level.",
    ),
)  # fmt: skip


api_rate_options = option_group(
    setting(
        "--kube-api-qps", type=click.FloatRange(min=0), default=2000.0, help="API requests per second; 0: no limit."
    ),
    setting("--kube-api-burst", type=click.IntRange(min=0), default=2000, help="Burst of API requests above that."),
)


def endpoint_options(metrics: str, health: str) -> Callable[[Command], Command]:
    """Define the listen addresses of a process, with their defaults."""
    return option_group(
        address("--listen-address", metrics, "/metrics; empty to disable."),
        setting(
            "--authorization-always-allow-paths", type=HttpPaths(), default="/healthz,/livez,/readyz", metavar="PATHS",
            help="Paths that need no token where --listen-address is not a loopback address.",
        ),
        setting(
            "--listen-scheme", type=click.Choice(("auto", "https", "http")), default="auto",
            help="The scheme of --listen-address; auto: https unless it is a loopback address without --tls-cert-file.",
        ),
        health_option(health),
    )  # fmt: skip


#: The certificate of a process, except of the webhook, which cannot do without.
certificate_options = option_group(
    setting(
        "--tls-cert-file", default="", metavar="FILE", type=click.Path(),
        help="The certificate for https; reloaded when it changes. Default: one that is made at the start.",
    ),
    setting("--tls-private-key-file", default="", metavar="FILE", type=click.Path(), help="Its key."),
)  # fmt: skip


def tls_of(options: Mapping[str, Any]) -> TlsSettings:
    """Return the settings of `endpoint_options` and `certificate_options`."""
    from stromboli.serving.tls import AUTO, HTTPS, TlsSettings

    files = options["tls_cert_file"], options["tls_private_key_file"]
    if any(files) and not all(files):
        missing = "--tls-private-key-file" if files[0] else "--tls-cert-file"
        raise click.UsageError(f"{missing} is missing; a certificate and its key are used together")
    scheme = options["listen_scheme"]
    return TlsSettings(HTTPS if scheme == AUTO and all(files) else scheme, *files)


def health_option(default: str) -> Callable[[Command], Command]:
    return address("--healthz-address", default, "/healthz, /livez and /readyz; empty to disable.")


def connector(options: Mapping[str, Any]) -> Callable[[], Connection]:
    """Return a factory of connections. An invalid configuration ends the command at once."""
    from stromboli.kube.client.config.connect import connect
    from stromboli.kube.client.config.connection import ConnectionProblem

    make = partial(connect, options["kubeconfig"], options["context"], options["master"])
    try:
        make()
    except ConnectionProblem as error:
        raise Failure(error) from error
    return make


@contextmanager
def request_errors(connection: Connection, kinds: str) -> Iterator[None]:
    """End the command with a message if a request fails; `kinds` are custom resources that may be missing."""
    from stromboli.kube.client.api_errors import ApiError, Unreachable
    from stromboli.planner.live.errors import NotAuthenticated

    try:
        yield
    except Unreachable as error:
        cause = str(error).partition(": ")[2] or error
        remedy = "start the cluster, or choose another one with --kubeconfig, --context or --master"
        raise Failure(f"the API server {connection.server} is unreachable: {cause}; {remedy}") from error
    except ApiError as error:
        if error.status == 401:
            raise Failure(NotAuthenticated(error.message)) from error
        if not error.is_missing:
            raise Failure(error) from error
        remedy = "stromboli manifests --only crds | kubectl apply --server-side -f -"
        raise Failure(f"the cluster has no {kinds}; install the CRDs first: {remedy}") from error
