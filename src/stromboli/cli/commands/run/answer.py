"""`stromboli answer`: one answer of a scheduler."""

from __future__ import annotations

import sys
from typing import Any

import click

from stromboli.cli.options.history import history_option
from stromboli.cli.options.settings import plugin_option
from stromboli.cli.output import Failure

_EPILOG = """\b
Examples:
  echo '{"resource": "jobs", "namespace": "team-a"}' \\
    | stromboli answer dump.json.gz

\b
Exit codes:
  0  answered, also if the answer is that there is none
  1  invalid input
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("dump", type=click.Path())
@history_option("The history of the scheduler: a file, or the DSN of a PostgreSQL server.")
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
def answer(dump: str, history_address: str, plugins: tuple[str, ...]) -> None:
    """VisibilityAnswer a question about a namespace from a dump.

    The scheduler starts this command for questions of people who may not read the whole cluster. The question is JSON
    on the standard input, as the aggregated API defines it: resource, namespace, name, output, parameters, objects.
    Names of other namespaces are replaced by numbers.
    """
    import msgspec

    from stromboli.cli.answers.answering import Asked
    from stromboli.cli.answers.answering import answer as answered
    from stromboli.cli.answers.state import namespace_scenario
    from stromboli.cluster.dump.dump import DumpError, read_dump
    from stromboli.visibility.questions import Question, VisibilityAnswer

    try:
        question: Question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
        contents = read_dump(dump)
    except (msgspec.DecodeError, DumpError) as error:
        raise Failure(error) from error
    found: Any
    try:
        found = answered(Asked(question, namespace_scenario(contents, question, plugins), history_address))
    except click.ClickException as error:
        found = VisibilityAnswer(problem=error.format_message())
    click.echo(msgspec.json.encode(found))
