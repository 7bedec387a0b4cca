"""`stromboli admission`: a webhook that looks at objects before an API server stores them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.addresses import address
from stromboli.cli.options.connection import connection_options, connector, log_options
from stromboli.cli.options.durations import DURATION
from stromboli.cli.options.settings import setting, switch
from stromboli.cli.output import Failure, echo_json

if TYPE_CHECKING:
    from stromboli.admission.facts import AdmissionPolicy
    from stromboli.admission.process import AdmissionSettings

CHECKS = ("authorisation", "priority-classes", "frozen-fields")
_POLICIES = {"fail": "Fail", "ignore": "Ignore"}

_EPILOG = """\b
Examples:
  stromboli admission --tls-cert-file tls.crt --tls-private-key-file tls.key
  stromboli admission --tls-cert-file tls.crt --tls-private-key-file tls.key --trusted-group team:operators
  stromboli admission certificates --folder certificates
  stromboli admission configuration --ca-file certificates/ca.crt | kubectl apply -f -

\b
Exit codes:
  0  stopped by a signal
  1  something that was given cannot be used
  2  wrong usage
"""
_CONFIGURATION_EPILOG = """\b
Examples:
  stromboli admission configuration --ca-file certificates/ca.crt | kubectl apply -f -
  stromboli admission configuration --url https://webhook.example.com:8443 --ca-file certificates/ca.crt
"""
_CERTIFICATES_EPILOG = """\b
Examples:
  stromboli admission certificates --folder certificates
  stromboli admission certificates --folder certificates --host webhook.example.com
"""


@click.group(epilog=_EPILOG, invoke_without_command=True)
@connection_options
@setting(
    "--tls-cert-file", default="", metavar="FILE", help="The certificate of the webhook; read again when it changes."
)
@setting("--tls-private-key-file", default="", metavar="FILE", help="Its key.")
@setting(
    "--client-ca-file", default="", metavar="FILE",
    help="Answer only those whose certificate was signed by these. Without it: everybody.",
)  # fmt: skip
@address("--webhook-address", "127.0.0.1:8443", "Where API servers ask.")
@setting(
    "--scheduler-name", "scheduler_names", multiple=True, default=("stromboli", "volcano"), metavar="NAME",
    help="Look at pods that name this scheduler. May be given several times; the first is for pods that name none.",
)  # fmt: skip
@switch(
    "--assign-scheduler", default=True,
    help="Give pods that name a group or a queue, and no scheduler, to the first of ours.",
)  # fmt: skip
@setting("--default-queue", default="default", metavar="NAME", help="The queue of groups that name none.")
@setting(
    "--public-queue", "public_queues", multiple=True, default=("default",), metavar="NAME",
    help="Everybody may use this queue, and nobody is asked. May be given several times.",
)  # fmt: skip
@setting(
    "--trusted-user", "trusted_users", multiple=True, metavar="NAME",
    help="This user acts for others, as Kubernetes' own controllers do: no rule about tenants holds for it. May be "
    "given several times.",
)  # fmt: skip
@setting(
    "--trusted-group", "trusted_groups", multiple=True, metavar="NAME",
    help="The same of all users of a group, as it is of system:masters and system:serviceaccounts:kube-system. May be "
    "given several times.",
)  # fmt: skip
@setting(
    "--without",
    multiple=True,
    type=click.Choice(CHECKS),
    help="Leave out a rule about tenants. May be given several times.",
)
@setting(
    "--authorisation-failure", type=click.Choice(["deny", "allow"]), default="deny",
    help="What holds while the API server does not say who may use a queue.",
)  # fmt: skip
@setting("--authorisation-ttl", type=DURATION, default="10s", help="How long its answers are remembered.")
@click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
    help="A plugin of your own for the binder, which looks at pods, too. May be given several times.",
)  # fmt: skip
@click.option(
    "--plugin-option", "plugin_options", multiple=True, metavar="PLUGIN.OPTION=VALUE",
    help="An option of a plugin of the binder. May be given several times.",
)  # fmt: skip
@click.option(
    "--without-plugin", "left_out", multiple=True, metavar="PLUGIN",
    help="Leave out a plugin of the binder. May be given several times.",
)  # fmt: skip
@setting("--concurrency", type=click.IntRange(1, 1024), default=32, help="Requests that are looked at at a time.")
@setting(
    "--shutdown-delay", type=DURATION, default="5s",
    help="How long to go on answering when told to stop: API servers hear of it a little later.",
)  # fmt: skip
@address("--listen-address", "127.0.0.1:8084", "/metrics; empty for none.")
@address("--healthz-address", "127.0.0.1:11254", "/healthz, /livez and /readyz; empty for none.")
@log_options
def admission(**options: Any) -> None:
    """Look at objects before they are stored, as a webhook: refuse what cannot work or is not allowed, and fill in what
    was not said.

    Alone, it answers the API server until stopped. The other commands make what it needs.
    """
    if click.get_current_context().invoked_subcommand is None:
        _serve(options)


def _serve(options: dict[str, Any]) -> None:
    from stromboli.admission.process import run_admission
    from stromboli.admission.tls import InvalidCertificate
    from stromboli.observability.endpoints import ListenError
    from stromboli.observability.logs import set_up_logs

    settings = _settings(options)
    set_up_logs(form=options["log_format"], level=options["log_level"])
    try:
        asyncio.run(run_admission(settings))
    except (ListenError, InvalidCertificate) as error:
        raise Failure(error) from error


def _settings(options: dict[str, Any]) -> AdmissionSettings:
    from stromboli.admission.process import AdmissionSettings
    from stromboli.observability.addresses import parse_address

    for name in ("tls_cert_file", "tls_private_key_file"):
        if not options[name]:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{flag} is missing; API servers ask over TLS only (see stromboli admission certificates)"
            )
    if not options["webhook_address"]:
        raise click.UsageError("--webhook-address is empty; write one like :8443")
    return AdmissionSettings(
        connect=connector(options["kubeconfig"], options["context"], options["master"]),
        policy=_policy(options),
        address=parse_address(options["webhook_address"]),
        certificate_file=options["tls_cert_file"],
        key_file=options["tls_private_key_file"],
        client_authority_file=options["client_ca_file"],
        authorisation_ttl=options["authorisation_ttl"],
        allow_unanswered=options["authorisation_failure"] == "allow",
        concurrency=options["concurrency"],
        shutdown_delay=options["shutdown_delay"],
        metrics_address=options["listen_address"],
        health_address=options["healthz_address"],
    )


def _policy(options: dict[str, Any]) -> AdmissionPolicy:
    from stromboli.admission.facts import TRUSTED_GROUPS, TRUSTED_USERS, AdmissionPolicy
    from stromboli.binding.plugins.built_in import BUILT_IN
    from stromboli.binding.plugins.loading import UnusablePlugin, load_plugins, read_options

    given = options["plugins"], options["plugin_options"]
    try:
        plugins = load_plugins(BUILT_IN, given[0], read_options(given[1]), without=options["left_out"])
    except UnusablePlugin as error:
        raise Failure(error) from error
    return AdmissionPolicy(
        scheduler_names=tuple(options["scheduler_names"]),
        default_queue=options["default_queue"],
        public_queues=frozenset(options["public_queues"]),
        trusted_users=frozenset((*TRUSTED_USERS, *options["trusted_users"])),
        trusted_groups=frozenset((*TRUSTED_GROUPS, *options["trusted_groups"])),
        without=frozenset(options["without"]),
        assigns_scheduler=options["assign_scheduler"],
        plugins=tuple(plugins),
    )


# -- what it needs ----------------------------------------------------------------------------------------------------


@admission.command(epilog=_CONFIGURATION_EPILOG)
@click.option("--url", default="", metavar="URL", help="Where the webhook is, if it is not a service of the cluster.")
@click.option("--service", default="stromboli-admission", show_default=True, metavar="NAME", help="Its service.")
@click.option(
    "-n", "--namespace", default="stromboli-system", show_default=True, metavar="NAME",
    help="The namespace of the service; nothing is asked about objects in it.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), default=443, show_default=True, help="The port of the service.")
@click.option("--ca-file", default="", metavar="FILE", help="Who signed the certificate of the webhook.")
@click.option(
    "--scheduler-name", "scheduler_names", multiple=True, default=("stromboli", "volcano"), metavar="NAME",
    show_default=True, help="Ask about pods that name this scheduler. May be given several times.",
)  # fmt: skip
@click.option(
    "--validating-failure", type=click.Choice(list(_POLICIES)), default="fail", show_default=True,
    help="While the webhook does not answer, refuse what it would look at, or let it pass.",
)  # fmt: skip
@click.option(
    "--mutating-failure", type=click.Choice(list(_POLICIES)), default="ignore", show_default=True,
    help="The same of what it would fill in.",
)  # fmt: skip
@click.option(
    "--timeout", type=click.IntRange(1, 30), default=10, show_default=True, help="Seconds that an API server waits."
)
@click.option(
    "--spare-namespace", "spared", multiple=True, default=("kube-system",), show_default=True, metavar="NAME",
    help="Ask nothing about objects in this namespace. May be given several times.",
)  # fmt: skip
@click.option("--name", default="stromboli", show_default=True, metavar="NAME", help="What both objects are called.")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
    help="Documents one after the other, or one list.",
)  # fmt: skip
def configuration(**options: Any) -> None:
    """Print the webhook configurations that tell an API server to ask."""
    from stromboli.admission.configuration import Webhooks, webhook_documents
    from stromboli.kube.manifests.yaml import dump_documents

    if options["url"] and not options["url"].startswith("https://"):
        raise click.BadParameter("API servers ask over TLS only; begin it with https://", param_hint="--url")
    documents = webhook_documents(
        Webhooks(
            url=options["url"],
            service=options["service"],
            namespace=options["namespace"],
            port=options["port"],
            authority=_authority(options["ca_file"]),
            scheduler_names=tuple(dict.fromkeys(options["scheduler_names"])),
            validating_failure=_POLICIES[options["validating_failure"]],
            mutating_failure=_POLICIES[options["mutating_failure"]],
            timeout=options["timeout"],
            excluded_namespaces=tuple(options["spared"]),
            name=options["name"],
        )
    )
    if options["output"] == "json":
        echo_json({"apiVersion": "v1", "kind": "List", "items": documents})
    else:
        click.echo(dump_documents(documents), nl=False)


def _authority(file: str) -> bytes:
    if not file:
        return b""
    try:
        found = Path(file).read_bytes()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        raise Failure(f"{file}: holds no certificate in PEM; name the file of the authority, such as ca.crt")
    return found


@admission.command(epilog=_CERTIFICATES_EPILOG)
@click.option("--folder", required=True, metavar="FOLDER", help="Where ca.crt, tls.crt and tls.key are written.")
@click.option(
    "--service", default="stromboli-admission", show_default=True, metavar="NAME", help="The service of the webhook."
)
@click.option("-n", "--namespace", default="stromboli-system", show_default=True, metavar="NAME", help="Its namespace.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="A further name or address of it. May be given several times.",
)
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long they hold.")
def certificates(folder: str, service: str, namespace: str, hosts: tuple[str, ...], days: int) -> None:
    """Make a certificate for the webhook, and the authority that signed it.

    The key of the authority is thrown away: to renew the certificate, make both again.
    """
    from stromboli.local.http.certificates import make_certificates

    inside = f"{service}.{namespace}.svc"
    try:
        made = make_certificates([inside, f"{inside}.cluster.local", *hosts], days)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--host") from error
    contents = {"ca.crt": made.authority, "tls.crt": made.certificate, "tls.key": made.key}
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file, content in contents.items():
            path = Path(folder, file)
            path.touch(mode=0o600)
            path.write_bytes(content)
    except OSError as error:
        raise Failure(f"{error.filename or folder}: {error.strerror}") from error
    click.echo(f"wrote ca.crt, tls.crt and tls.key to {folder}; they hold for {days} days")
