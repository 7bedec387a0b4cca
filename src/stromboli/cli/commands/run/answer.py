"""`stromboli answer`: one answer of a scheduler."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from stromboli.cli.options.history import history_option
from stromboli.cli.options.settings import plugin_option
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.cluster.dump.dump import Dump
    from stromboli.console.questions import ConsoleQuestion
    from stromboli.visibility.questions import Question, VisibilityAnswer

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
    """Answer a question about a namespace from a dump.

    The scheduler starts this command for questions of people who may not read the whole cluster. The question is JSON
    on the standard input, as the aggregated API defines it: resource, namespace, name, output, parameters, objects.
    Names of other namespaces are replaced by numbers. The web console starts it as well, for questions that have the
    field console.
    """
    click.echo(_encoded(_answered(sys.stdin.buffer.read(), dump, history_address, plugins)))


def _answered(text: bytes, dump: str, history_address: str, plugins: tuple[str, ...]) -> VisibilityAnswer:
    """What is wrong with the question is part of the answer. An invalid dump ends the command."""
    import msgspec

    from stromboli.cluster.dump.dump import DumpError, read_dump
    from stromboli.console.questions import ConsoleQuestion
    from stromboli.visibility.questions import Question, VisibilityAnswer

    try:
        is_of_console = "console" in msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        question: Question | ConsoleQuestion
        if is_of_console:
            question = msgspec.json.decode(text, type=ConsoleQuestion)
        else:
            question = msgspec.json.decode(text, type=Question)
        contents = read_dump(dump)
    except DumpError as error:
        raise Failure(error) from error
    except (msgspec.DecodeError, RecursionError) as error:
        return VisibilityAnswer(problem=f"the question is invalid: {error}")
    try:
        return _answer(question, contents, history_address, plugins)
    except click.ClickException as error:
        return VisibilityAnswer(problem=error.format_message())


def _answer(
    question: Question | ConsoleQuestion, dump: Dump, history_address: str, plugins: tuple[str, ...]
) -> VisibilityAnswer:
    from stromboli.cli.answers.answering import Asked
    from stromboli.cli.answers.answering import answer as answered
    from stromboli.cli.answers.console import console_answer
    from stromboli.cli.answers.state import namespace_scenario
    from stromboli.cli.past_usage import with_history
    from stromboli.visibility.questions import Question

    if not isinstance(question, Question):
        return console_answer(question, dump, plugins, history_address)
    scenario = with_history(namespace_scenario(dump, question, plugins), history_address)
    return answered(Asked(question, scenario, history_address))


def _encoded(found: VisibilityAnswer) -> bytes:
    import msgspec

    from stromboli.visibility.questions import MAX_ANSWER, VisibilityAnswer

    encoded = msgspec.json.encode(found)
    if len(encoded) <= MAX_ANSWER:
        return encoded
    problem = f"the answer has more than {MAX_ANSWER >> 20} MiB; ask about less"
    return msgspec.json.encode(VisibilityAnswer(problem=problem))
