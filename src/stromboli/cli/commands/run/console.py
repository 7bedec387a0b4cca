"""`stromboli console`: the web console."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.connection import certificate_options, connection_options, connector, log_options, tls_of
from stromboli.cli.options.history import find_history, history_option
from stromboli.cli.options.live import installation_option
from stromboli.cli.options.settings import address, conf_option, plugin_option, setting
from stromboli.cli.output import Failure
from stromboli.cli.policies import parse_policy, read_configuration_text, read_registry

if TYPE_CHECKING:
    from stromboli.console.access.callers import Network, TrustedProxies
    from stromboli.console.cache.cache import ProgramFactory
    from stromboli.console.server.settings import ConsoleSettings
    from stromboli.core.session.program import Program

_EPILOG = """\b
Examples:
  stromboli console
  stromboli console --console-address :8443 --tls-cert-file tls.crt \\
    --tls-private-key-file tls.key --allowed-host console.example.com
  stromboli console --trusted-proxy 10.0.0.5 --proxy-user-header X-Auth-User

\b
Exit codes:
  0  stopped by a signal
  1  invalid input
  2  wrong usage
"""


_PROXY_HEADERS = {"proxy_user_header": "X-Forwarded-User", "proxy_group_header": "X-Forwarded-Groups"}


class _HostName(click.ParamType[str]):
    """A name as in the header `Host`, without a port."""

    name = "host"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from stromboli.kube.objects.meta import SUBDOMAIN

        if not SUBDOMAIN.fullmatch(str(value).lower()):
            self.fail(f"{value!r} is not a name such as console.example.com, without scheme and port", param, ctx)
        return str(value)


class _Network(click.ParamType["Network"]):
    """An address, or a network such as 10.0.0.0/24."""

    name = "network"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Network:
        try:
            return ipaddress.ip_network(str(value))
        except ValueError as error:
            self.fail(f"{error}; write an address such as 10.0.0.5, or a network such as 10.0.0.0/24", param, ctx)


@click.command(epilog=_EPILOG)
@connection_options
@installation_option
@address("--console-address", "127.0.0.1:8086", "The address of the console.")
@setting(
    "--listen-scheme", type=click.Choice(("auto", "https", "http")), default="auto",
    help="The scheme; auto: https unless it is a loopback address without --tls-cert-file.",
)  # fmt: skip
@certificate_options
@setting(
    "--allowed-host", "hosts", multiple=True, type=_HostName(), metavar="NAME",
    help="A name under which browsers reach the console. Repeatable; localhost and addresses are always allowed.",
)  # fmt: skip
@setting(
    "--trusted-proxy", "proxies", multiple=True, type=_Network(), metavar="ADDRESS",
    help="The address of a proxy that authenticates people and names them in headers. Repeatable.",
)  # fmt: skip
@setting(
    "--proxy-user-header", default=_PROXY_HEADERS["proxy_user_header"], metavar="NAME",
    help="The header of trusted proxies with the user.",
)  # fmt: skip
@setting(
    "--proxy-group-header", default=_PROXY_HEADERS["proxy_group_header"], metavar="NAME",
    help="Their header with the groups of the user, separated by commas.",
)  # fmt: skip
@conf_option("Default: that of the scheduler of the cluster, else the default configuration.")
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
@history_option("The history that the scheduler records. Default: that of a local cluster.")
@setting(
    "--owner-label", default="stromboli.dev/user", metavar="KEY",
    help="The label of pods and PodGroups with the user of a job.",
)  # fmt: skip
@log_options
def console(**options: Any) -> None:
    """Serve the web console: what happens in the cluster, why a job waits, and what a change would do.

    It is read-only. People log in with a token of the API server, and see what this token permits them to read.
    """
    from stromboli.console.server.server import ConsoleServer
    from stromboli.observability.logs import set_up_logs
    from stromboli.serving.address import ListenError
    from stromboli.serving.tls import InvalidCertificate

    settings = _settings(options)
    set_up_logs(log_format=options["log_format"], level=options["log_level"])
    try:
        server = ConsoleServer(settings)
        server.start()
    except (ListenError, InvalidCertificate) as error:
        raise Failure(error) from error
    click.echo(f"The console is at {server.url}/", err=True)
    try:
        asyncio.run(_until_stopped())
    finally:
        server.stop()


async def _until_stopped() -> None:
    from stromboli.observability.signals import stopped_by_signal

    stop = asyncio.Event()
    with stopped_by_signal(stop.set):
        await stop.wait()


def _settings(options: Mapping[str, Any]) -> ConsoleSettings:
    from stromboli.console.cache.memory import MemoryRelease
    from stromboli.console.server.settings import ConsoleSettings
    from stromboli.serving.address import parse_address

    if not options["console_address"]:
        raise click.UsageError("--console-address is empty; use an address such as 127.0.0.1:8086")
    if options["listen_scheme"] == "http" and not parse_address(options["console_address"]).is_loopback:
        raise click.UsageError("--listen-scheme http needs a loopback address: tokens would be readable on the network")
    for name, usual in _PROXY_HEADERS.items():
        if options[name] != usual and not options["proxies"]:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} has no effect without --trusted-proxy; name the address of the proxy")
    policy = None if options["conf"] is None else read_configuration_text(options["conf"])
    program_of = program_factory(options["plugins"])
    if policy is not None:
        program_of(policy, options["conf"])
    return ConsoleSettings(
        connect=connector(options),
        program_of=program_of,
        address=options["console_address"],
        tls=tls_of(options),
        installation=options["installation"],
        policy=policy,
        plugins=tuple(options["plugins"]),
        history=find_history(options),
        owner_label=options["owner_label"],
        hosts=tuple(options["hosts"]),
        proxies=_proxies(options),
        release_memory=MemoryRelease(),
    )


def program_factory(plugins: tuple[str, ...]) -> ProgramFactory:
    """Return a function that makes the program of a policy. It raises ValueError for one that is invalid."""
    from stromboli.core.config.plugin import PluginFailure
    from stromboli.core.session.program import Program

    registry = read_registry(plugins)

    def program_of(text: str, source: str) -> Program:
        try:
            return Program(parse_policy(text, registry, source), registry)
        except (Failure, PluginFailure) as error:
            raise ValueError(str(error)) from error

    return program_of


def _proxies(options: Mapping[str, Any]) -> TrustedProxies:
    from stromboli.console.access.callers import TrustedProxies

    return TrustedProxies(options["proxies"], options["proxy_user_header"], options["proxy_group_header"])
