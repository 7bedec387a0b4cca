"""The API over HTTP: each route of the table with what answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from stromboli.console import openapi
from stromboli.console.access.callers import ConsoleCallers
from stromboli.console.access.rights import RightsReviewer
from stromboli.console.routes import ROUTES, ApiRoute
from stromboli.console.server.asking import ConsoleAsking
from stromboli.console.server.calls import MAX_BODY, AnswerCache, ConsoleCall, encoded, packed_response
from stromboli.console.server.decisions import ConsoleDecisions
from stromboli.console.server.events import EventStreams
from stromboli.console.server.login import ConsoleLogin
from stromboli.console.server.pages import StaticPages
from stromboli.console.server.reads import FRAME_ANSWERS, ConsoleReads
from stromboli.console.server.security import RequestGuard, add_headers
from stromboli.console.server.state import ConsoleState
from stromboli.console.server.turns import PersonTurns
from stromboli.console.server.usage import ConsoleUsage
from stromboli.serving.guard import Handler

Answer = Callable[[ConsoleCall], Awaitable[Any]]

#: Routes with limits of their own.
_LIMITED = frozenset({"streamEvents", "explainJob", "scoreJob", "plan", "diffPolicies", "simulate"})


class ConsoleApi:
    """Connects routes, answers and callers."""

    def __init__(
        self, state: ConsoleState, callers: ConsoleCallers, reviewer: RightsReviewer, login: ConsoleLogin,
        reads: ConsoleReads, asking: ConsoleAsking, decisions: ConsoleDecisions, usage: ConsoleUsage,
    ) -> None:  # fmt: skip
        self._state, self._callers, self._reviewer, self._login = state, callers, reviewer, login
        self._kept, self._streams, self._turns = AnswerCache(), EventStreams(callers), PersonTurns()
        #: By name of the route; those of FRAME_ANSWERS and the login are besides.
        self._answers: Mapping[str, Answer] = {
            "getSession": login.show, "logout": login.logout, "getOverview": reads.overview, "getSeries": reads.series,
            "listJobs": reads.jobs, "getJob": reads.job, "getJobYaml": reads.yaml, "getJobHistory": reads.attempts,
            "explainJob": asking.explain, "scoreJob": asking.score, "getNode": reads.node,
            "listHistory": reads.history, "getPolicy": reads.policy, "plan": asking.plan, "diffPolicies": asking.diff,
            "simulate": asking.simulate,
            "streamEvents": self._streams.stream, "listCycles": decisions.cycles, "getCycle": decisions.cycle,
            "getQueueUsage": usage.queues,
        }  # fmt: skip

    def application(self, guard: RequestGuard, pages: StaticPages) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY, middlewares=[guard.middleware()])
        application.on_response_prepare.append(add_headers)
        application.on_shutdown.append(self._streams.close)
        router = application.router
        for route in ROUTES:
            router.add_route(route.method, route.path, self._handler(route))
        router.add_get("/api/openapi.json", _description)
        router.add_get("/healthz", _alive)
        router.add_get("/livez", _alive)
        router.add_get("/readyz", self._ready)
        router.add_get("/{path:.*}", pages.serve)
        return application

    def _handler(self, route: ApiRoute) -> Handler:
        if route.is_open:
            return self._login.login

        async def handle(request: web.Request) -> web.StreamResponse:
            caller = await self._callers.caller(request)
            call = ConsoleCall(request, route, caller, self._state, self._reviewer)
            if route.name in _LIMITED:
                return await self._answered(call)
            async with self._turns.turn(caller.person.name):
                return await self._answered(call)

        return handle

    async def _answered(self, call: ConsoleCall) -> web.StreamResponse:
        if call.route.name in FRAME_ANSWERS:
            return await self._of_frame(call)
        answer = await self._answers[call.route.name](call)
        if isinstance(answer, web.StreamResponse):
            return answer
        return await packed_response(call.request, {False: encoded(answer)})

    async def _of_frame(self, call: ConsoleCall) -> web.Response:
        """Answer from what is kept for this frame, these rights and this query."""
        view = await call.view()
        known = {name: call.query[name] for name in call.route.query if name in call.query}
        key = (call.route.name, tuple(known.items()), view.instance, view.frame.version, view.rights.key)
        forms = self._kept.find(key)
        if forms is None:
            forms = self._kept.keep(key, encoded(FRAME_ANSWERS[call.route.name](view, known)))
        return await packed_response(call.request, forms)

    async def _ready(self, request: web.Request) -> web.Response:
        """Raises NotReady."""
        return web.Response(text=f"ok, version {self._state.frames.current.version}\n")


async def _description(request: web.Request) -> web.Response:
    return await packed_response(request, {False: openapi.FILE.read_bytes()})


async def _alive(request: web.Request) -> web.Response:
    return web.Response(text="ok\n")
