"""Questions that a process of its own answers: one at a time per person, some of all."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stromboli.cluster.dump.dump import DumpError
from stromboli.console.access.rights import PersonRights
from stromboli.console.documents.plans import PlanRequest, PolicyDiffRequest, SimulationRequest
from stromboli.console.questions import ConsoleQuestion
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.server.problems import Unanswerable
from stromboli.console.server.reads import key_of
from stromboli.console.views.view import NotPermitted
from stromboli.visibility.limits import QuestionLimits
from stromboli.visibility.process import AnswerFailed, AnsweringProcess
from stromboli.visibility.questions import VisibilityAnswer
from stromboli.visibility.snapshots import Snapshots

#: Seconds to wait for the turn of a question, its dump and its answer together.
_MAX_SECONDS = 58.0
_MAX_CYCLES = 100
_MAX_SIMULATED = 366 * 86_400
_ALL = "this needs the right to list PodGroups in all namespaces; ask for the ClusterRole stromboli-viewer"


class ConsoleAsking:
    """`snapshots` are dumps of the cache of the console."""

    def __init__(self, process: AnsweringProcess, snapshots: Snapshots) -> None:
        self._process, self._snapshots, self._limits = process, snapshots, QuestionLimits()

    async def explain(self, call: ConsoleCall) -> bytes:
        view = await call.view()
        view.row(key_of(call))
        return await self._answer(call, view.rights, ConsoleQuestion(console="explanation", job=key_of(call)))

    async def score(self, call: ConsoleCall) -> bytes:
        view = await call.view()
        view.row(key_of(call))
        if not view.rights.known.nodes:
            raise NotPermitted("you may not list nodes; ask for the ClusterRole stromboli-viewer")
        return await self._answer(call, view.rights, ConsoleQuestion(console="scores", job=key_of(call)))

    async def plan(self, call: ConsoleCall) -> bytes:
        body = await call.body(PlanRequest)
        rights = await call.rights([body.namespace] if body.namespace else [])
        if not rights.may_read_all:
            if body.policy is not None:
                raise NotPermitted(f"a plan with another policy shows the whole cluster: {_ALL}")
            if not body.namespace:
                raise ValueError("namespace is missing: name the namespace of the plan")
            if not rights.may_read(body.namespace):
                raise NotPermitted(f"you may not list PodGroups in namespace {body.namespace}")
        if body.change:
            (await call.view()).row(body.job)
        question = ConsoleQuestion(
            console="plan", namespace=body.namespace, manifests=body.manifests, policy=body.policy,
            job=body.job, change=body.change,
            cycles=_within("cycles", body.cycles, 1, _MAX_CYCLES),
        )  # fmt: skip
        return await self._answer(call, rights, question)

    async def diff(self, call: ConsoleCall) -> bytes:
        body = await call.body(PolicyDiffRequest)
        rights = await self._all(call)
        question = ConsoleQuestion(
            console="policyDiff", policy=body.before, other_policy=body.after,
            cycles=_within("cycles", body.cycles, 1, _MAX_CYCLES),
        )  # fmt: skip
        return await self._answer(call, rights, question)

    async def simulate(self, call: ConsoleCall) -> bytes:
        body = await call.body(SimulationRequest)
        rights = await self._all(call)
        question = ConsoleQuestion(
            console="simulation", manifests=body.manifests, policy=body.policy,
            seconds=_within("seconds", body.seconds, 1, _MAX_SIMULATED),
            run_seconds=_within("runSeconds", body.run_seconds, 1, _MAX_SIMULATED),
        )  # fmt: skip
        return await self._answer(call, rights, question)

    async def _all(self, call: ConsoleCall) -> PersonRights:
        rights = await call.rights()
        if not rights.may_read_all:
            raise NotPermitted(_ALL)
        return rights

    async def _answer(self, call: ConsoleCall, rights: PersonRights, question: ConsoleQuestion) -> bytes:
        """Raises TooManyQuestions, AnswerFailed, Unanswerable."""
        readable = rights.readable
        question.readable = None if readable is None else sorted(readable)
        person = call.caller.person.name
        try:
            async with asyncio.timeout(_MAX_SECONDS), self._limits.slot(person, question.namespace or f"/{person}"):
                answer = await self._answered(question)
        except TimeoutError as error:
            raise AnswerFailed(f"the answer takes longer than {_MAX_SECONDS:g} s; ask about less") from error
        except (DumpError, OSError) as error:
            raise AnswerFailed(f"the state of the console cannot be written: {error}") from error
        if answer.problem is not None:
            raise Unanswerable(answer.problem)
        return bytes(answer.result)

    async def _answered(self, question: ConsoleQuestion) -> VisibilityAnswer:
        async with self._snapshots.latest() as path:
            return await self._process.answer(question, Path(path))


def _within(name: str, value: int, lowest: int, highest: int) -> int:
    if not lowest <= value <= highest:
        raise ValueError(f"{name} {value} is not from {lowest} to {highest}")
    return value
