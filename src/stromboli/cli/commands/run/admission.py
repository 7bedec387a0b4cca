"""`stromboli admission`: the admission webhook."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.binder_plugins import binder_plugin_options, load_binder_plugins
from stromboli.cli.options.connection import connection_options, connector, endpoint_options, log_options
from stromboli.cli.options.settings import (
    DURATION,
    address,
    output_option,
    scheduler_name_option,
    setting,
    switch,
)
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.admission.facts import AdmissionPolicy
    from stromboli.admission.process import AdmissionSettings

CHECKS = ("authorisation", "priority-classes", "frozen-fields")
_POLICIES = {"fail": "Fail", "ignore": "Ignore"}

_EPILOG = """\b
Examples:
  stromboli admission --tls-cert-file tls.crt --tls-private-key-file tls.key \\
    --path-secret-file path-secret
  stromboli admission --tls-cert-file tls.crt --tls-private-key-file tls.key \\
    --path-secret-file path-secret --trusted-group team:operators
  stromboli admission certificates --folder certificates
  stromboli admission configuration --ca-file certificates/ca.crt \\
    --path-secret-file certificates/path-secret | kubectl apply -f -

\b
Exit codes:
  0  stopped by a signal
  1  invalid input
  2  wrong usage
"""
_CONFIGURATION_EPILOG = """\b
Examples:
  stromboli admission configuration --ca-file certificates/ca.crt \\
    --path-secret-file certificates/path-secret | kubectl apply -f -
  stromboli admission configuration --url https://webhook.example.com:8443 \\
    --ca-file certificates/ca.crt

\b
Exit codes:
  0  printed
  1  invalid input
  2  wrong usage
"""
_CERTIFICATES_EPILOG = """\b
Examples:
  stromboli admission certificates --folder certificates
  stromboli admission certificates --folder certificates \\
    --host webhook.example.com

\b
Exit codes:
  0  written
  1  invalid input
  2  wrong usage
"""


@click.group(epilog=_EPILOG, invoke_without_command=True)
@connection_options
@setting(
    "--tls-cert-file", default="", metavar="FILE", type=click.Path(),
    help="The certificate of the webhook; reloaded when it changes.",
)  # fmt: skip
@setting("--tls-private-key-file", default="", metavar="FILE", type=click.Path(), help="Its key.")
@setting(
    "--client-ca-file", default="", metavar="FILE", type=click.Path(),
    help="Accept only clients with a certificate signed by these authorities. Default: all clients.",
)  # fmt: skip
@setting(
    "--path-secret-file", default="", metavar="FILE", type=click.Path(),
    help="Answer only requests whose path ends with a secret of this file, one per line; reloaded when it changes.",
)  # fmt: skip
@switch("--allow-any-client", help="Answer all clients, without a path secret or client certificates.")
@address("--webhook-address", "127.0.0.1:8443", "The address of the webhook.")
@scheduler_name_option(
    "Validate pods with this scheduler name. Repeatable; the first is the default for pods without one.", setting
)
@switch(
    "--assign-scheduler", default=True,
    help="Set the scheduler name of pods that name a group or a queue, and no scheduler.",
)  # fmt: skip
@switch(
    "--record-users",
    help="Write the creator of pods, PodGroups and workloads to their annotation stromboli.dev/user.",
)  # fmt: skip
@setting("--default-queue", default="default", metavar="NAME", help="The queue of groups without a queue.")
@setting(
    "--public-queue", "public_queues", multiple=True, default=("default",), metavar="NAME",
    help="All users may use this queue, without an access check. Repeatable.",
)  # fmt: skip
@setting(
    "--trusted-user", "trusted_users", multiple=True, metavar="NAME",
    help="This user acts for others, as Kubernetes' controllers do, and is exempt from tenant rules. Repeatable.",
)  # fmt: skip
@setting(
    "--trusted-group", "trusted_groups", multiple=True, metavar="NAME",
    help="The same for all users of a group, in addition to system:masters and system:serviceaccounts:kube-system. "
    "Repeatable.",
)  # fmt: skip
@setting("--without", multiple=True, type=click.Choice(CHECKS), help="Disable a tenant rule. Repeatable.")
@setting(
    "--authorisation-failure", type=click.Choice(["deny", "allow"]), default="deny",
    help="The decision when the access check of a queue fails.",
)  # fmt: skip
@setting("--authorisation-ttl", type=DURATION, default="10s", help="How long results of access checks are cached.")
@binder_plugin_options("Your own binder plugin, which validates pods, too. Repeatable.", "binder plugin")
@setting("--concurrency", type=click.IntRange(1, 1024), default=32, help="Concurrent requests.")
@setting(
    "--shutdown-delay", type=DURATION, default="5s",
    help="How long to keep serving after a stop signal, until API servers notice.",
)  # fmt: skip
@endpoint_options("127.0.0.1:8084", "127.0.0.1:11254")
@log_options
def admission(**options: Any) -> None:
    """Validate and default objects, as an admission webhook: reject invalid objects and fill in defaults.

    Without a sub-command it serves the API server until stopped. The sub-commands create its configuration.
    """
    if click.get_current_context().invoked_subcommand is None:
        _serve(options)


def _serve(options: dict[str, Any]) -> None:
    from stromboli.admission.callers import InvalidPathSecret
    from stromboli.admission.process import run_admission
    from stromboli.observability.logs import set_up_logs
    from stromboli.serving.address import ListenError
    from stromboli.serving.tls import InvalidCertificate

    settings = _settings(options)
    set_up_logs(log_format=options["log_format"], level=options["log_level"])
    try:
        asyncio.run(run_admission(settings))
    except (ListenError, InvalidCertificate, InvalidPathSecret) as error:
        raise Failure(error) from error


def _settings(options: dict[str, Any]) -> AdmissionSettings:
    from stromboli.admission.process import AdmissionSettings
    from stromboli.serving.address import parse_address

    for name in ("tls_cert_file", "tls_private_key_file"):
        if not options[name]:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} is missing; API servers require TLS (see stromboli admission certificates)")
    if not (options["path_secret_file"] or options["client_ca_file"] or options["allow_any_client"]):
        remedy = "see stromboli admission certificates, or use --client-ca-file or --allow-any-client"
        raise click.UsageError(f"--path-secret-file is missing; without it the webhook answers every client ({remedy})")
    if not options["webhook_address"]:
        raise click.UsageError("--webhook-address is empty; use an address such as :8443")
    return AdmissionSettings(
        connect=connector(options),
        policy=_policy(options),
        address=parse_address(options["webhook_address"]),
        certificate_file=options["tls_cert_file"],
        key_file=options["tls_private_key_file"],
        client_authority_file=options["client_ca_file"],
        path_secret_file=options["path_secret_file"],
        authorisation_ttl=options["authorisation_ttl"],
        allow_unanswered=options["authorisation_failure"] == "allow",
        concurrency=options["concurrency"],
        shutdown_delay=options["shutdown_delay"],
        metrics_address=options["listen_address"],
        health_address=options["healthz_address"],
        metrics_scheme=options["listen_scheme"],
        always_allowed_paths=options["authorization_always_allow_paths"],
    )


def _policy(options: dict[str, Any]) -> AdmissionPolicy:
    from stromboli.admission.facts import TRUSTED_GROUPS, AdmissionPolicy

    return AdmissionPolicy(
        scheduler_names=tuple(options["scheduler_names"]),
        default_queue=options["default_queue"],
        public_queues=frozenset(options["public_queues"]),
        trusted_users=frozenset(options["trusted_users"]),
        trusted_groups=frozenset((*TRUSTED_GROUPS, *options["trusted_groups"])),
        without=frozenset(options["without"]),
        assigns_scheduler=options["assign_scheduler"],
        records_users=options["record_users"],
        plugins=tuple(load_binder_plugins(options)),
    )


# -- configuration and certificates -----------------------------------------------------------------------------------


@admission.command(epilog=_CONFIGURATION_EPILOG)
@click.option("--url", default="", metavar="URL", help="The URL of the webhook, if it is not a service of the cluster.")
@click.option("--service", default="stromboli-admission", show_default=True, metavar="NAME", help="Its service.")
@click.option(
    "-n", "--namespace", default="stromboli-system", show_default=True, metavar="NAME",
    help="The namespace of the service; objects in it are not validated.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), default=443, show_default=True, help="The port of the service.")
@click.option(
    "--ca-file", default="", metavar="FILE", type=click.Path(),
    help="The authority that signed the certificate of the webhook.",
)  # fmt: skip
@click.option(
    "--path-secret-file", default="", metavar="FILE", type=click.Path(),
    help="The file with the secret path of the webhook; the first line is used.",
)  # fmt: skip
@scheduler_name_option("Validate pods with this scheduler name. Repeatable.")
@click.option(
    "--validating-failure", type=click.Choice(list(_POLICIES)), default="fail", show_default=True,
    help="Reject or allow objects while the webhook is unavailable.",
)  # fmt: skip
@click.option(
    "--mutating-failure", type=click.Choice(list(_POLICIES)), default="ignore", show_default=True,
    help="The same for defaulting.",
)  # fmt: skip
@click.option(
    "--record-users", is_flag=True,
    help="Send new workloads for stromboli admission --record-users, which writes their creator to their pods.",
)  # fmt: skip
@click.option(
    "--timeout", type=click.IntRange(1, 30), default=10, show_default=True, help="Timeout of the API server in seconds."
)
@click.option(
    "--exclude-namespace", "excluded", multiple=True, default=("kube-system",), show_default=True, metavar="NAME",
    help="Do not validate objects in this namespace. Repeatable.",
)  # fmt: skip
@click.option("--name", default="stromboli", show_default=True, metavar="NAME", help="The name of both objects.")
@output_option("yaml")
def configuration(**options: Any) -> None:
    """Print the webhook configurations for the API server."""
    from stromboli.admission.configuration import Webhooks, webhook_documents
    from stromboli.cli.text.objects import objects_printout

    if options["url"] and not options["url"].startswith("https://"):
        raise click.BadParameter("API servers require TLS; begin it with https://", param_hint="--url")
    documents = webhook_documents(
        Webhooks(
            url=options["url"],
            service=options["service"],
            namespace=options["namespace"],
            port=options["port"],
            path_secret=_path_secret(options["path_secret_file"]),
            authority=_authority(options["ca_file"]),
            scheduler_names=tuple(dict.fromkeys(options["scheduler_names"])),
            validating_failure=_POLICIES[options["validating_failure"]],
            mutating_failure=_POLICIES[options["mutating_failure"]],
            records_users=options["record_users"],
            timeout=options["timeout"],
            excluded_namespaces=tuple(options["excluded"]),
            name=options["name"],
        )
    )
    objects_printout(documents).echo(options["output"])


def _path_secret(file: str) -> str:
    from stromboli.admission.callers import InvalidPathSecret, read_secrets

    try:
        return read_secrets(file)[0] if file else ""
    except InvalidPathSecret as error:
        raise Failure(error) from error


def _authority(file: str) -> bytes:
    from stromboli.kube.manifests.errors import path_problem

    if not file:
        return b""
    try:
        found = Path(file).read_bytes()
    except OSError as error:
        raise Failure(path_problem(file, error)) from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        raise Failure(f"{file}: contains no PEM certificate; use the file of the authority, such as ca.crt")
    return found


@admission.command(epilog=_CERTIFICATES_EPILOG)
@click.option(
    "--folder",
    required=True,
    metavar="FOLDER",
    type=click.Path(),
    help="The folder for ca.crt, tls.crt, tls.key and path-secret.",
)
@click.option(
    "--service", default="stromboli-admission", show_default=True, metavar="NAME", help="The service of the webhook."
)
@click.option("-n", "--namespace", default="stromboli-system", show_default=True, metavar="NAME", help="Its namespace.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="An additional host name or address. Repeatable.")
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="Validity in days.")
def certificates(folder: str, service: str, namespace: str, hosts: tuple[str, ...], days: int) -> None:
    """Create a certificate for the webhook, the authority that signed it, and a secret for its path.

    The key of the authority is discarded: to renew the certificate, create both again.
    """
    from stromboli.kube.manifests.errors import path_problem
    from stromboli.serving.certificates import make_certificates

    inside = f"{service}.{namespace}.svc"
    try:
        made = make_certificates([inside, f"{inside}.cluster.local", *hosts], days)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--host") from error
    contents = {"ca.crt": made.authority, "tls.crt": made.certificate, "tls.key": made.key}
    contents["path-secret"] = f"{secrets.token_hex(20)}\n".encode()
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file, content in contents.items():
            path = Path(folder, file)
            path.touch(mode=0o600)
            path.write_bytes(content)
    except OSError as error:
        raise Failure(path_problem(error.filename or folder, error)) from error
    click.echo(f"wrote ca.crt, tls.crt, tls.key and path-secret to {folder}; valid for {days} days")
