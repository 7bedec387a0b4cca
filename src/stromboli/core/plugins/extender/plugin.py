"""The plugin: every question that has a verb is passed on, and the answer given as if it were its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.combining import Vote
from stromboli.core.config.external_services import Document, Endpoint, ServiceClient, ServiceError, checked_url
from stromboli.core.config.plugin import Event, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.values.durations import parse_duration
from stromboli.core.plugins.extender import responses
from stromboli.core.plugins.extender.payloads import Documents
from stromboli.core.plugins.extender.rules import Refusals, Scores, Verdict
from stromboli.core.search.node_rules import NodeFilter, NodeScorer
from stromboli.core.session.session import Session

#: The questions that are passed on, by the beginning of the argument that names their verb.
_VERBS = {
    "onSessionOpen": "open",
    "onSessionClose": "close",
    "predicate": "predicate",
    "prioritize": "node_order",
    "preemptable": "preemptable",
    "reclaimable": "reclaimable",
    "queueOverused": "overused",
    "jobEnqueueable": "job_enqueueable",
    "jobEnqueued": "job_enqueued",
    "jobReady": "job_ready",
    "allocateFunc": "on_allocate",
    "deallocateFunc": "on_deallocate",
}
_PATH = re.compile(r"[\w.~/-]{1,128}", re.ASCII)

Read = TypeVar("Read")


def _verb(text: str) -> str:
    if text and (not _PATH.fullmatch(text) or ".." in text):
        raise ValueError(f"{text[:60]!r} is no part of an address; write letters, figures, - and /")
    return text.strip("/")


def _address(text: str) -> str:
    return checked_url(text) if text else ""


class Extender(Plugin):
    name = "extender"
    arguments = (
        Argument("extender.urlPrefix", str, "", "The address of the extender; verbs stand behind it.", form=_address),
        Argument("extender.httpTimeout", str, "1s", "How long one answer may take.", form=parse_duration),
        *(Argument(f"extender.{verb}Verb", str, "", f"The verb for {verb}.", form=_verb) for verb in _VERBS),
        Argument("extender.ignorable", bool, False, "Go on without an extender that does not answer."),
        Argument("extender.managedResources", list, [], "Pass on only what concerns pods that ask for one of these."),
        Argument("extender.caFile", str, "", "A file with the authorities that are believed."),
        Argument("extender.certFile", str, "", "A file with the certificate that is shown."),
        Argument("extender.keyFile", str, "", "A file with its key."),
    )

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self._verbs = {question: _verb(given[f"extender.{verb}Verb"]) for verb, question in _VERBS.items()}
        if not given["extender.urlPrefix"]:
            self._verbs = dict.fromkeys(self._verbs, "")
        self._endpoint = Endpoint(
            _address(given["extender.urlPrefix"]),
            parse_duration(given["extender.httpTimeout"]),
            given["extender.caFile"],
            given["extender.certFile"],
            given["extender.keyFile"],
        )
        self._ignorable: bool = given["extender.ignorable"]
        self._managed = frozenset(given["extender.managedResources"])
        self._filters = (Refusals(self._is_managed, self._verdict),) if self._verbs["predicate"] else ()
        self._scorers = (Scores(self._is_managed, self._scores),) if self._verbs["node_order"] else ()

    def unused_extension_points(self) -> frozenset[str]:
        return frozenset(question for question, verb in self._verbs.items() if not verb)

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers

    # -- a cycle ------------------------------------------------------------------------------------------------

    def open(self, session: Session) -> None:
        self._session, self._documents = session, Documents(session)
        self._told: set[str] = set()
        self._overused: dict[tuple[object, ...], bool] = {}
        outside = session.program.outside
        self._client_of_extender: ServiceClient | None = None
        if outside is not None and any(self._verbs.values()):
            self._client_of_extender = outside.client_for(self._endpoint)
        elif any(self._verbs.values()):
            self._warn("the extender is not asked here; what follows is without its word")
        self._notify("open", self._documents.of_session)

    def close(self, session: Session) -> None:
        self._notify("close", dict)

    # -- nodes --------------------------------------------------------------------------------------------------

    def _verdict(self, task_class: TaskClass) -> Verdict:
        try:
            return Verdict(self._asked("predicate", self._about_nodes(task_class), responses.reasons, {}))
        except ServiceError as error:
            return Verdict({}, str(error))

    def _scores(self, task_class: TaskClass) -> Mapping[str, float]:
        return self._asked("node_order", self._about_nodes(task_class), responses.scores, {})

    def _about_nodes(self, task_class: TaskClass) -> Document:
        return {"task": self._documents.of_class(task_class), "nodes": self._documents.nodes}

    def _is_managed(self, task_class: TaskClass) -> bool:
        """Whether the extender is asked about pods of a class at all."""
        if not self._managed:
            return True
        names = self._session.axis.names
        return any(names[dimension] in self._managed for dimension, _ in task_class.request)

    # -- queues and jobs ----------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> Reason | None:
        """Asked again only when the queue has got or lost something."""
        key = (queue.name, *self._session.ledger.queues[queue.name].allocated)
        if key not in self._overused:
            question = {"queue": self._documents.of_queue(queue)}
            self._overused[key] = self._asked("overused", question, lambda a: responses.truth(a, "overused"), False)
        if not self._overused[key]:
            return None
        return Reason(Code.PLUGIN_REFUSED, f"the extender says that queue {queue.name} has had enough")

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        vote = self._asked("job_enqueueable", {"job": self._documents.of_job(job)}, responses.vote, 0)
        if vote < 0:
            return Reason(Code.PLUGIN_REFUSED, "the extender does not let the job in")
        return Vote.PERMIT if vote else Vote.ABSTAIN

    def job_enqueued(self, job: Job) -> None:
        self._notify("job_enqueued", lambda: {"job": self._documents.of_job(job)})

    def job_ready(self, job: Job) -> bool:
        question = {"job": self._documents.of_job(job)}
        return self._asked("job_ready", question, lambda answer: responses.truth(answer, "status"), True)

    # -- victims ------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._victims("preemptable", preemptor, candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._victims("reclaimable", preemptor, candidates)

    def _victims(self, question: str, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        if not self._is_managed(preemptor.task_class):
            return None
        asked = {"evictor": self._documents.of_task(preemptor), "evictees": self._documents.of_tasks(candidates)}
        vote, named = self._asked(question, asked, _vote_and_victims, _NO_VOTE)
        if not vote:
            return None
        chosen = frozenset(named) if vote > 0 else frozenset[str]()
        return [task for task in candidates if task.uid in chosen]

    # -- what happened ------------------------------------------------------------------------------------------

    def on_allocate(self, event: Event) -> None:
        """An extender that objects, or cannot be told, undoes the operation."""
        if self._is_managed(event.tasks[0].task_class):
            self._asked("on_allocate", self._about(event), lambda _: None, None)

    def on_deallocate(self, event: Event) -> None:
        """Nothing can be undone any more."""
        if self._is_managed(event.tasks[0].task_class):
            self._notify("on_deallocate", lambda: self._about(event))

    def _about(self, event: Event) -> Document:
        return {"tasks": self._documents.of_tasks(event.tasks), "nodes": list(event.nodes)}

    # -- asking -------------------------------------------------------------------------------------------------

    def _asked(self, question: str, about: Document, read: Callable[[Document], Read], otherwise: Read) -> Read:
        """What the extender answers. `otherwise` holds where it is not asked, or is ignorable and does not answer;
        raises NoAnswer where it is not ignorable.
        """
        if self._client_of_extender is None:
            return otherwise
        try:
            answer = self._client_of_extender.ask(self._verbs[question], {"session": self._session.uid, **about})
            if failure := responses.words(answer, "errorMessage"):
                raise ServiceError(f"{self._endpoint.address}/{self._verbs[question]}: {failure}")
            return read(answer)
        except ServiceError as error:
            if not self._ignorable:
                raise
            self._warn(f"the extender did not answer and is ignored: {error}")
            return otherwise

    def _notify(self, question: str, about: Callable[[], Document]) -> None:
        """Tell it something. If that fails, whatever is asked next will say so."""
        if self._client_of_extender is None or not self._verbs[question]:
            return
        try:
            self._asked(question, about(), lambda _: None, None)
        except ServiceError as error:
            self._warn(f"the extender could not be told: {error}")

    def _warn(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self._session.warnings.append(words)


_NO_VOTE: tuple[int, Sequence[str]] = (0, ())


def _vote_and_victims(answer: Document) -> tuple[int, Sequence[str]]:
    return responses.vote(answer), responses.victims(answer)
