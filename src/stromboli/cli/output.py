"""Output: every format of a result, warnings, errors, and sanitised text for terminals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from traceback import extract_tb, format_exception
from typing import IO, Any

import click

_BIDI = (*range(0x200E, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *_BIDI)
_REMOVED = dict.fromkeys(_CONTROLS)
#: Characters that are valid in JSON strings, and control a terminal.
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}


#: Replaces names in texts for people who may not read them; every text of an object passes `escape_controls`.
name_filter: ContextVar[Callable[[str], str] | None] = ContextVar("name_filter", default=None)


def escape_controls(text: str) -> str:
    """Remove terminal control and bidirectional characters: names come from untrusted manifests."""
    plain = text if text.isprintable() else text.translate(_REMOVED)
    hide = name_filter.get()
    return plain if hide is None else hide(plain)


@dataclass(frozen=True, slots=True)
class Printout:
    """The result of a command in every format of `--output`; only the requested one is computed."""

    #: Prints tables; the argument is whether they are wide.
    tables: Callable[[bool], None]
    #: The data of JSON and YAML, with the warnings.
    data: Callable[[], Any]
    #: A name per line, as `object_name` writes it.
    names: Callable[[], Iterable[str]]
    #: For the standard error in formats other than JSON and YAML.
    warnings: Sequence[str] = ()
    #: Whether the data is a List whose items are separate documents in YAML.
    is_stream: bool = False
    #: Formats of this command only.
    further: Mapping[str, Callable[[], str]] = field(default_factory=dict)

    def echo(self, output: str) -> None:
        """Print the result, and the warnings where the result does not have them."""
        if output not in ("json", "yaml"):
            warn(self.warnings)
        self.echo_result(output)

    def echo_result(self, output: str) -> None:
        """Print the result alone."""
        if output == "json":
            echo_json(self.data())
        elif output == "yaml":
            echo_yaml(self.data(), is_stream=self.is_stream)
        else:
            self._echo_text(output)

    def _echo_text(self, output: str) -> None:
        if output == "name":
            click.echo("".join(f"{escape_controls(name)}\n" for name in self.names()), nl=False)
        elif output in self.further:
            click.echo(self.further[output]())
        else:
            self.tables(output == "wide")


def echo_json(value: object) -> None:
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    click.echo(text.translate(_ESCAPED))


def echo_yaml(value: Any, *, is_stream: bool = False) -> None:
    """Print the values that JSON has, as one document, or the items of a List as a stream of documents."""
    import msgspec

    from stromboli.kube.manifests.yaml import dump_documents

    plain = msgspec.json.decode(msgspec.json.encode(value))
    click.echo(dump_documents(plain["items"] if is_stream else [plain]), nl=False)


def object_name(document: Mapping[str, Any]) -> str:
    """Return the name of an object as kubectl prints it: `deployment.apps/stromboli-scheduler`."""
    group = str(document["apiVersion"]).rpartition("/")[0]
    kind = str(document["kind"]).lower()
    return f"{kind}.{group}/{document['metadata']['name']}" if group else f"{kind}/{document['metadata']['name']}"


def job_name(key: str) -> str:
    """Return the name of a job: its PodGroup with the namespace, because commands list jobs of all namespaces."""
    namespace, _, name = key.partition("/")
    group, separator, native = name.partition(":")  # the key of a native PodGroup contains its API group
    return f"podgroup.{group}/{namespace}/{native}" if separator else f"podgroup.scheduling.volcano.sh/{key}"


def warn(warnings: Iterable[str]) -> None:
    """Print warnings; a text that begins with `note:` is only a note."""
    for warning in warnings:
        prefix = "" if warning.startswith("note: ") else "warning: "
        click.echo(f"{prefix}{escape_controls(warning)}", err=True)


class Failure(click.ClickException):
    """Ends the command with exit code 1 and a message, for invalid input."""

    def __init__(self, problem: object, details: str = "") -> None:
        super().__init__(str(problem) or type(problem).__name__)
        self.details = details

    def show(self, file: IO[Any] | None = None) -> None:
        for line in self.message.splitlines():
            click.echo(f"error: {escape_controls(line)}", file=file, err=True)
        for line in self.details.splitlines():
            click.echo(escape_controls(line), file=file, err=True)


def plugin_failure(error: Exception) -> Failure:
    """Return the failure of a command by an error in a plugin; with `--traceback` it shows the whole traceback."""
    wanted = click.get_current_context().params.get("traceback")
    return Failure(error, "".join(format_exception(error.__cause__ or error)) if wanted else "")


def echo_tracebacks(errors: Iterable[Exception]) -> None:
    """Print the traceback of each error to the standard error; errors with the same origin are printed once."""
    seen = set()
    for error in errors:
        origin = tuple((entry.filename, entry.lineno) for entry in extract_tb(error.__traceback__))
        if origin not in seen:
            seen.add(origin)
            for line in "".join(format_exception(error)).splitlines():
                click.echo(escape_controls(line), err=True)
