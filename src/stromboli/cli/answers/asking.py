"""Commands whose user may not list the cluster ask the scheduler, through the API server or directly."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_source import ClusterSource, ListingDenied
from stromboli.cli.options.settings import option_group, reject_options, setting
from stromboli.cli.output import Failure, echo_json, warn
from stromboli.cli.scenario import WAITING

if TYPE_CHECKING:
    from stromboli.kube.client.api_errors import ApiError
    from stromboli.kube.client.client import Client
    from stromboli.kube.client.config.connection import Connection
    from stromboli.visibility.questions import Question, VisibilityAnswer


class Unanswered(Failure):
    """The scheduler does not answer."""


#: Options of a calculation on this machine.
_OF_CALCULATIONS = (
    *("conf", "cycles", "now", "seed", "plugins", "ask_extenders", "traceback", "scheduler_names"),
    *("shard_mode", "shard_name", "shard_selector", "history_address"),
)
_SECONDS = 65.0
#: A replica that cannot answer closes the connection, so that a further request may reach another one.
_MAX_TRIES = 8

asking_options = option_group(
    setting(
        "--scheduler-address", default="", metavar="URL",
        help="Ask the scheduler at this address, instead of reading the cluster or asking through the API server.",
    ),
    setting(
        "--scheduler-ca", default="", metavar="FILE", type=click.Path(),
        help="The authority of its certificate. Default: those of the system.",
    ),
)  # fmt: skip


def switches(**options: bool) -> dict[str, str]:
    """Return the parameters of a question for the switches that are on."""
    return {name: "true" for name, is_on in options.items() if is_on}


@contextmanager
def asking_scheduler(question: Question, options: Mapping[str, Any]) -> Iterator[None]:
    """Ask the scheduler if the command may not list the objects of the cluster. The namespace and the objects of the
    question are those of the options.
    """
    if options["scheduler_address"]:
        ask_for(question, options)
        click.get_current_context().exit(0)
    try:
        yield
    except ListingDenied as denied:
        ask_for(question, options, denied)


def ask_for(question: Question, options: Mapping[str, Any], denied: Failure | None = None) -> None:
    """Print the answer of the scheduler, and end the command with its exit code. `denied` is why the command asks."""
    from msgspec.structs import replace as replaced

    if options.get("all_namespaces"):
        raise denied or click.UsageError("The scheduler answers about one namespace: leave -A out.")
    reject_options(_OF_CALCULATIONS, "where the scheduler answers, which decides by its own settings")
    trusted = _trusted(options) if options["scheduler_address"] else None
    source = ClusterSource(options)
    source.is_denied = True
    connection = source.required()
    objects, is_known = _read_files(source, options)
    namespace = source.namespace or connection.namespace
    asked = replaced(question, namespace=namespace, objects=objects)
    if options["scheduler_address"]:
        connection = _direct(connection, options, trusted)
    answer = _answer(asked, connection, denied)
    notes = [] if denied is None else [f"note: the scheduler answers: {denied.message.partition(';')[0]}"]
    if answer.text is None:
        result = answer.result
        if isinstance(result, dict) and isinstance(result.get("warnings"), list):
            result["warnings"] = [*notes, *result["warnings"]]
        echo_json(result)
    else:
        warn([*notes, *answer.warnings])
        click.echo(answer.text, nl=False)
    click.get_current_context().exit(answer.exit_code if is_known else answer.exit_code or WAITING)


def _read_files(source: ClusterSource, options: Mapping[str, Any]) -> tuple[list[dict[str, Any]] | None, bool]:
    """Return the objects of the files with the pods of their workloads, and whether all of these are known; None
    without files.
    """
    from stromboli.cli.answers.submitted import documents_of

    if not options.get("paths"):
        return None, True
    found = source.files(options["paths"], options["scheduler_names"], time.time())
    unknown = [f"{subject} could not be judged: its pods are not known" for subject in found.unjudged]
    warn([*found.warnings, *unknown, *(f"note: {subject} {why}" for subject, why in found.inactive.items())])
    return documents_of(found.objects), not (found.unjudged or found.problems)


def _answer(question: Question, connection: Connection, denied: Failure | None) -> VisibilityAnswer:
    from stromboli.kube.client.api_errors import ApiError, RequestFailed

    try:
        return asyncio.run(_ask(question, connection))
    except ApiError as error:
        if error.status == 422 or (error.status == 400 and denied is None):
            raise Failure(error.message) from error
        raise _failure(error, question, denied) from error
    except RequestFailed as error:
        raise _joined(denied, f"the scheduler does not answer: {error}") from error


def _trusted(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    """Return how the certificate of `--scheduler-address` is verified; None for HTTP on this machine. Invalid options
    end the command.
    """
    from stromboli.kube.manifests.errors import path_problem
    from stromboli.serving.address import is_loopback_url

    address, authority = str(options["scheduler_address"]), options["scheduler_ca"]
    if not address.startswith("https://"):
        if not is_loopback_url(address):
            raise click.UsageError("--scheduler-address must begin with https://, so that the token stays secret.")
        return None
    try:
        return ssl.create_default_context(cafile=authority or None)
    except ssl.SSLError as error:
        raise Failure(f"{authority}: no certificates in PEM") from error
    except OSError as error:
        raise Failure(path_problem(authority, error)) from error


def _direct(connection: Connection, options: Mapping[str, Any], trusted: ssl.SSLContext | None) -> Connection:
    """Return the connection to a scheduler, with the credentials for the API server."""
    address = str(options["scheduler_address"]).rstrip("/")
    return replace(connection, server=address, ssl=trusted, server_name="", socket="", proxy="")


async def _ask(question: Question, connection: Connection) -> VisibilityAnswer:
    """Raises RequestFailed."""
    from stromboli.kube.client.api_errors import ApiError
    from stromboli.kube.client.client import Client

    for _ in range(_MAX_TRIES):
        async with Client(connection) as client:
            try:
                return await _request(client, question)
            except ApiError as error:
                if error.status != 503 or error.retry_after != 0:
                    raise
                last = error
    raise last


async def _request(client: Client, question: Question) -> VisibilityAnswer:
    import msgspec

    from stromboli.visibility.questions import VisibilityAnswer

    parameters = {**question.parameters, "output": question.output}
    if question.objects is None:
        found = await client.request("GET", question.path, params=parameters, timeout=_SECONDS)
    else:
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": question.objects})
        found = await client.request("POST", question.path, params=parameters, body=body, timeout=_SECONDS)
    return msgspec.json.decode(found, type=VisibilityAnswer)


def _failure(error: ApiError, question: Question, denied: Failure | None) -> Failure:
    if error.status == 404:
        group = question.path.split("/")[2]
        return _joined(
            denied, f"the API server does not serve {group}; an administrator can install it, see install.md"
        )
    if error.status == 401:
        return _joined(denied, f"the scheduler does not accept the credentials: {error.message}")
    if error.status == 403:
        role = f"ask for the role stromboli-user, view or edit in namespace {question.namespace}"
        return _joined(denied, f"you may not ask the scheduler about namespace {question.namespace}; {role}")
    return _joined(denied, f"the scheduler does not answer: {error.message}")


def _joined(denied: Failure | None, problem: str) -> Failure:
    """Return the failure with why the scheduler was asked."""
    return Unanswered(problem if denied is None else f"{denied.message}. The scheduler was asked instead: {problem}")
