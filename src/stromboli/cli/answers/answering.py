"""The answer to a question, as the commands print it, with the names of one namespace."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

import click
import msgspec

from stromboli.cli.answers.state import NamespaceScenario
from stromboli.cli.options.history import open_history
from stromboli.cli.options.listing import ListingScope
from stromboli.cli.options.selectors import parse_selector
from stromboli.cli.output import Failure, Printout, name_filter
from stromboli.cli.scenario import WAITING
from stromboli.visibility.names import HiddenNames
from stromboli.visibility.questions import Question, VisibilityAnswer


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what it is answered from."""

    question: Question
    scenario: NamespaceScenario
    #: The address of the history; empty for none.
    history: str = ""


def answer(asked: Asked) -> VisibilityAnswer:
    """Return the answer, or why there is none."""
    with hidden_names(asked.scenario.names):
        try:
            printout, is_settled = _ANSWERS[asked.question.resource](asked)
            return _rendered(printout, asked, 0 if is_settled else WAITING)
        except click.ClickException as error:
            return VisibilityAnswer(problem=asked.scenario.names.hide(error.format_message()))


@contextmanager
def hidden_names(names: HiddenNames) -> Iterator[None]:
    """Hide names in all texts that are printed within the context."""
    token = name_filter.set(names.hide)
    try:
        yield
    finally:
        name_filter.reset(token)


def _rendered(printout: Printout, asked: Asked, exit_code: int) -> VisibilityAnswer:
    names, output = asked.scenario.names, asked.question.output
    warnings = [warning for warning in printout.warnings if not names.mentions(warning)]
    shown = replace(printout, data=lambda: names.in_values(_plain(printout.data())))
    if output == "json":
        return VisibilityAnswer(exit_code=exit_code, result=shown.data())
    text, notes = io.StringIO(), io.StringIO()
    with redirect_stdout(text), redirect_stderr(notes):
        shown.echo_result(output)
    warnings += [f"note: {names.hide(line)}" for line in notes.getvalue().splitlines()]
    return VisibilityAnswer(exit_code=exit_code, text=names.hide(text.getvalue()), warnings=warnings)


def _plain(value: Any) -> Any:
    """Return the values that JSON has."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _plan(asked: Asked) -> tuple[Printout, bool]:
    from stromboli.cli.commands.ask.plan import planned

    question = asked.question
    return planned(asked.scenario, asked.history, explain=question.is_set("explain"), when=question.is_set("when"))


def _explanation(asked: Asked) -> tuple[Printout, bool]:
    from stromboli.cli.commands.ask.explain import explained

    printout, waits = explained(asked.scenario, asked.question.name)
    return printout, not waits


def _jobs(asked: Asked) -> tuple[Printout, bool]:
    from stromboli.cli.commands.cluster.job import job_of
    from stromboli.cli.commands.cluster.jobs import WantedJobs, listed

    question, selector = asked.question, asked.question.text("selector")
    if question.name:
        printout, waits = job_of(
            asked.scenario, question.name, question.namespace, asked.history, shown_key=asked.scenario.names.key
        )
        return printout, not waits
    scope = ListingScope(question.namespace, parse_selector(selector, "selector") if selector else None)
    wanted = WantedJobs(scope, frozenset(question.entries("queue")), question.is_set("waiting"))
    is_planned, when = question.is_set("plan"), question.is_set("when")
    return listed(asked.scenario, wanted, asked.history, is_planned=is_planned, when=when), True


def _queues(asked: Asked) -> tuple[Printout, bool]:
    """Return the queues that the jobs of the namespace use, with those above them."""
    from stromboli.cli.text.cluster.queues import queues_printout
    from stromboli.planner.overview.queue_list import listed_queues

    session = asked.scenario.open().session
    parents = {queue.name: queue.parent for queue in session.queues.values()}
    names = {job.queue for job in session.jobs.values() if job.spec.namespace == asked.question.namespace}
    names.add(asked.scenario.default_queue)
    for name in tuple(names):
        while (name := parents.get(name, "")) and name not in names:
            names.add(name)
    return queues_printout([queue for queue in listed_queues(session) if queue.name in names], (), []), True


def _history(asked: Asked) -> tuple[Printout, bool]:
    from stromboli.cli.commands.cluster.history import filter_of, recorded

    question = asked.question
    if not asked.history:
        raise Failure("the scheduler records no history")
    now = asked.scenario.now or 0.0
    wanted = filter_of(
        question.namespace, question.name, now, queue=question.text("queue"), states=question.entries("state"),
        since=question.text("since"), limit=question.text("limit"),
    )  # fmt: skip
    with open_history(asked.history) as database:
        return recorded(database, wanted, now, asked.scenario.names.key), True


_ANSWERS: Mapping[str, Callable[[Asked], tuple[Printout, bool]]] = {
    "plans": _plan,
    "jobs": _jobs,
    "jobs/explanation": _explanation,
    "queues": _queues,
    "history": _history,
}
