"""`stromboli reasons`: the reference of the codes that say why a job waits, made from the code itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from stromboli.cli.output import echo_json
from stromboli.cli.text.tables import Table, echo_table

_EPILOG = """\b
Examples:
  stromboli reasons
  stromboli reasons -o markdown > docs/reference/reasons.md
"""

_INTRODUCTION = """\
# Reasons

Whatever the scheduler refuses, it says why: on the PodGroup, on the pod, in events, in `stromboli plan` and in
`stromboli explain`. The sentences are for people and may be improved; the codes below are stable, and programs
may match on them. *Remedy* says who can do something about it, and *may change when* lists the events after which
the scheduler asks the question again.

This page is made by `stromboli reasons -o markdown`.
"""


@click.command(epilog=_EPILOG)
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "markdown"]), default="table", show_default=True,
    help="For people, for programs, or for the documentation.",
)  # fmt: skip
def reasons(output: str) -> None:
    """List the reasons for which a job may wait, with what can be done about each."""
    if output == "json":
        echo_json(_as_plain())
    elif output == "markdown":
        click.echo("\n".join(_as_markdown()))
    else:
        echo_table(_as_table())


def _as_plain() -> dict[str, Any]:
    from stromboli.core.model.reasons import CODES

    return {
        code.value: {
            "meaning": facts.meaning,
            "remedy": facts.remedy.value,
            "advice": facts.advice,
            "retryEvents": [event.value for event in facts.retry_events],
        }
        for code, facts in CODES.items()
    }


def _as_table() -> Table:
    table = Table(("CODE", "REMEDY", "MEANING AND ADVICE"), flexible=("MEANING AND ADVICE",))
    for code, facts in _as_plain().items():
        table.add(code, facts["remedy"], f"{facts['meaning']} {facts['advice']}")
    return table


def _as_markdown() -> Iterator[str]:
    yield _INTRODUCTION
    for number, (code, facts) in enumerate(_as_plain().items()):
        yield from ("",) if number else ()
        yield f"## {code}\n"
        yield f"{facts['meaning']} {facts['advice']}\n"
        yield f"* Remedy: {facts['remedy']}"
        yield f"* May change when: {'; '.join(facts['retryEvents'])}"
