"""Output: JSON, YAML, warnings, errors, and sanitised text for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from traceback import extract_tb, format_exception
from typing import IO, Any

import click

_BIDI = (*range(0x200E, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *_BIDI)
_REMOVED = dict.fromkeys(_CONTROLS)
#: Characters that are valid in JSON strings, and control a terminal.
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}


def escape_controls(text: str) -> str:
    """Remove terminal control and bidirectional characters: names come from untrusted manifests."""
    return text if text.isprintable() else text.translate(_REMOVED)


def echo_json(value: object) -> None:
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    click.echo(text.translate(_ESCAPED))


def echo_documents(documents: Sequence[object], output: str) -> None:
    """Print Kubernetes objects as a stream of YAML documents, or as one list in JSON."""
    from stromboli.kube.manifests.yaml import dump_documents

    if output == "json":
        echo_json({"apiVersion": "v1", "kind": "List", "items": documents})
    else:
        click.echo(dump_documents(documents), nl=False)


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {escape_controls(warning)}", err=True)


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
