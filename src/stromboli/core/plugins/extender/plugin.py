"""The extender plugin: forwards every extension point with a configured verb, and returns the response."""

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
from stromboli.core.model.values.times import parse_duration
from stromboli.core.plugins.extender import messages
from stromboli.core.plugins.extender.messages import Documents
from stromboli.core.plugins.extender.rules import ExtenderVerdict, Refusals, Scores
from stromboli.core.search.node_rules import NodeFilter, NodeScorer
from stromboli.core.session.session import Session

_PATH = re.compile(r"[\w.~/-]{1,128}", re.ASCII)

Read = TypeVar("Read")


def _verb(text: str) -> str:
    if text and (not _PATH.fullmatch(text) or ".." in text):
        raise ValueError(f"{text[:60]!r} is not a valid verb; write letters, digits, - and /")
    return text.strip("/")


def _address(text: str) -> str:
    return checked_url(text) if text else ""


class ExtenderArguments(Arguments):
    url: str = Argument("extender.urlPrefix", "", "The URL of the extender; verbs are appended to it.", parse=_address)
    timeout: float = Argument("extender.httpTimeout", "1s", "The timeout of a call.", parse=parse_duration)
    open: str = Argument("extender.onSessionOpenVerb", "", "The verb for onSessionOpen.", parse=_verb)
    close: str = Argument("extender.onSessionCloseVerb", "", "The verb for onSessionClose.", parse=_verb)
    predicate: str = Argument("extender.predicateVerb", "", "The verb for predicate.", parse=_verb)
    node_order: str = Argument("extender.prioritizeVerb", "", "The verb for prioritize.", parse=_verb)
    preemptable: str = Argument("extender.preemptableVerb", "", "The verb for preemptable.", parse=_verb)
    reclaimable: str = Argument("extender.reclaimableVerb", "", "The verb for reclaimable.", parse=_verb)
    overused: str = Argument("extender.queueOverusedVerb", "", "The verb for queueOverused.", parse=_verb)
    job_enqueueable: str = Argument("extender.jobEnqueueableVerb", "", "The verb for jobEnqueueable.", parse=_verb)
    job_enqueued: str = Argument("extender.jobEnqueuedVerb", "", "The verb for jobEnqueued.", parse=_verb)
    job_ready: str = Argument("extender.jobReadyVerb", "", "The verb for jobReady.", parse=_verb)
    on_allocate: str = Argument("extender.allocateFuncVerb", "", "The verb for allocateFunc.", parse=_verb)
    on_deallocate: str = Argument("extender.deallocateFuncVerb", "", "The verb for deallocateFunc.", parse=_verb)
    ignorable: bool = Argument("extender.ignorable", False, "Continue without an extender that fails.")
    managed_resources: list[str] = Argument("extender.managedResources", [], "Only for pods that request one of these.")
    ca_file: str = Argument("extender.caFile", "", "A file with the trusted certificate authorities.")
    cert_file: str = Argument("extender.certFile", "", "A file with the client certificate.")
    key_file: str = Argument("extender.keyFile", "", "A file with its key.")

    def verbs(self) -> dict[str, str]:
        """Return the verb of every extension point that can be forwarded; all empty without a URL."""
        return {
            name: getattr(self, name) if self.url else ""
            for name, spec in self._attributes.items()
            if spec.key.endswith("Verb")
        }


class Extender(Plugin):
    name = "extender"
    arguments = ExtenderArguments()

    def __init__(self, arguments: ExtenderArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._verbs = arguments.verbs()
        self._endpoint = Endpoint(
            arguments.url, arguments.timeout, arguments.ca_file, arguments.cert_file, arguments.key_file
        )
        self._managed = frozenset(arguments.managed_resources)
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
        self._reported: set[str] = set()
        self._overused: dict[tuple[object, ...], bool] = {}
        outside = session.program.outside
        self._client_of_extender: ServiceClient | None = None
        if outside is not None and any(self._verbs.values()):
            self._client_of_extender = outside.client_for(self._endpoint)
        elif any(self._verbs.values()):
            self._warn("the extender is not called here; the plan does not include its decisions")
        self._notify("open", self._documents.of_session)

    def close(self, session: Session) -> None:
        self._notify("close", dict)

    # -- nodes --------------------------------------------------------------------------------------------------

    def _verdict(self, task_class: TaskClass) -> ExtenderVerdict:
        try:
            return ExtenderVerdict(self._asked("predicate", self._about_nodes(task_class), messages.reasons, {}))
        except ServiceError as error:
            return ExtenderVerdict({}, str(error))

    def _scores(self, task_class: TaskClass) -> Mapping[str, float]:
        return self._asked("node_order", self._about_nodes(task_class), messages.scores, {})

    def _about_nodes(self, task_class: TaskClass) -> Document:
        return {"task": self._documents.of_class(task_class), "nodes": self._documents.nodes}

    def _is_managed(self, task_class: TaskClass) -> bool:
        """Report whether the extender manages pods of a class."""
        if not self._managed:
            return True
        names = self._session.axis.names
        return any(names[dimension] in self._managed for dimension, _ in task_class.request)

    # -- queues and jobs ----------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> Reason | None:
        """Call the extender again only if the allocation of the queue has changed."""
        key = (queue.name, *self._session.ledger.queues[queue.name].allocated)
        if key not in self._overused:
            question = {"queue": self._documents.of_queue(queue)}
            self._overused[key] = self._asked("overused", question, lambda a: messages.truth(a, "overused"), False)
        if not self._overused[key]:
            return None
        return Reason(Code.PLUGIN_REFUSED, f"the extender reports queue {queue.name} as overused")

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        vote = self._asked("job_enqueueable", {"job": self._documents.of_job(job)}, messages.vote, 0)
        if vote < 0:
            return Reason(Code.PLUGIN_REFUSED, "the extender rejected the job")
        return Vote.PERMIT if vote else Vote.ABSTAIN

    def job_enqueued(self, job: Job) -> None:
        self._notify("job_enqueued", lambda: {"job": self._documents.of_job(job)})

    def job_ready(self, job: Job) -> bool:
        question = {"job": self._documents.of_job(job)}
        return self._asked("job_ready", question, lambda answer: messages.truth(answer, "status"), True)

    # -- victims ------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._victims("preemptable", preemptor, candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._victims("reclaimable", preemptor, candidates)

    def _victims(self, question: str, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        if not self._is_managed(preemptor.task_class):
            return None
        request = {"evictor": self._documents.of_task(preemptor), "evictees": self._documents.of_tasks(candidates)}
        vote, named = self._asked(question, request, _vote_and_victims, _NO_VOTE)
        if not vote:
            return None
        chosen = frozenset(named) if vote > 0 else frozenset[str]()
        return [task for task in candidates if task.uid in chosen]

    # -- events -------------------------------------------------------------------------------------------------

    def on_allocate(self, event: Event) -> None:
        """Undo the operation if the extender rejects it or cannot be reached."""
        if self._is_managed(event.tasks[0].task_class):
            self._asked("on_allocate", self._about(event), lambda _: None, None)

    def on_deallocate(self, event: Event) -> None:
        """Notify the extender; the operation cannot be undone."""
        if self._is_managed(event.tasks[0].task_class):
            self._notify("on_deallocate", lambda: self._about(event))

    def _about(self, event: Event) -> Document:
        return {"tasks": self._documents.of_tasks(event.tasks), "nodes": list(event.nodes)}

    # -- calls --------------------------------------------------------------------------------------------------

    def _asked(self, question: str, about: Document, read: Callable[[Document], Read], otherwise: Read) -> Read:
        """Return the response of the extender. `otherwise` is returned if it is not called, or is ignorable and fails;
        raises ServiceError if it is not ignorable.
        """
        if self._client_of_extender is None:
            return otherwise
        try:
            answer = self._client_of_extender.ask(self._verbs[question], {"session": self._session.uid, **about})
            if failure := messages.message(answer, "errorMessage"):
                raise ServiceError(f"{self._endpoint.address}/{self._verbs[question]}: {failure}")
            return read(answer)
        except ServiceError as error:
            if not self.arguments.ignorable:
                raise
            self._warn(f"the extender did not answer and is ignored: {error}")
            return otherwise

    def _notify(self, question: str, about: Callable[[], Document]) -> None:
        """Send a notification. A failure is reported by the next call."""
        if self._client_of_extender is None or not self._verbs[question]:
            return
        try:
            self._asked(question, about(), lambda _: None, None)
        except ServiceError as error:
            self._warn(f"notifying the extender failed: {error}")

    def _warn(self, message: str) -> None:
        if message not in self._reported:
            self._reported.add(message)
            self._session.warnings.append(message)


_NO_VOTE: tuple[int, Sequence[str]] = (0, ())


def _vote_and_victims(answer: Document) -> tuple[int, Sequence[str]]:
    return messages.vote(answer), messages.victims(answer)
