"""Sessions over HTTP: the cookie, and the document about its person."""

from __future__ import annotations

from aiohttp import web

from stromboli.console.access.attempts import address_of
from stromboli.console.access.callers import ConsoleCaller, ConsoleCallers, check_origin
from stromboli.console.access.rights import PersonRights, RightsReviewer
from stromboli.console.access.sessions import SESSION_SECONDS
from stromboli.console.documents.sessions import LoginRequest, SessionDocument
from stromboli.console.server.calls import ConsoleCall, encoded, read_body
from stromboli.console.server.state import ConsoleState
from stromboli.planner.cycle_records import CycleRecords


class ConsoleLogin:
    """`is_https` is whether the cookie is for HTTPS only."""

    def __init__(
        self, callers: ConsoleCallers, reviewer: RightsReviewer, state: ConsoleState, *, is_https: bool,
        has_history: bool, cycles: CycleRecords, owner_label: str,
    ) -> None:  # fmt: skip
        self._callers, self._reviewer, self._state = callers, reviewer, state
        self._is_https, self._owner_label = is_https, owner_label
        self._has_history, self._cycles = has_history, cycles

    async def login(self, request: web.Request) -> web.Response:
        """Start a session. Raises LoginRefused, TooManyAttempts, RequestRejected, NotReady."""
        check_origin(request)
        body = await read_body(request, LoginRequest)
        with self._callers.attempts.attempt(address_of(request)):
            session = await self._callers.sessions.start(body.token, body.code)
        caller = ConsoleCaller(session.person, session.csrf, session)
        try:
            document = await self._document(caller)
        except BaseException:
            self._callers.sessions.end(session.identifier)
            raise
        response = web.Response(body=encoded(document), content_type="application/json")
        response.set_cookie(
            self._callers.cookie, session.identifier, max_age=int(SESSION_SECONDS), path="/", httponly=True,
            secure=self._is_https, samesite="Strict",
        )  # fmt: skip
        return response

    async def show(self, call: ConsoleCall) -> SessionDocument:
        return await self._document(call.caller)

    async def logout(self, call: ConsoleCall) -> web.Response:
        if call.caller.session is not None:
            self._callers.sessions.end(call.caller.session.identifier)
        response = web.Response(status=204)
        response.del_cookie(self._callers.cookie, path="/", secure=self._is_https, httponly=True, samesite="Strict")
        return response

    async def _document(self, caller: ConsoleCaller) -> SessionDocument:
        frames = self._state.frames
        namespaces = {row.entry.namespace for row in frames.current.rows.values()}
        rights: PersonRights = await self._reviewer.of(caller.person, namespaces)
        readable = rights.readable
        return SessionDocument(
            user=caller.person.name, groups=list(caller.person.groups), rights=rights.known,
            namespaces=None if readable is None else sorted(readable), csrf=caller.csrf,
            expires=None if caller.session is None else caller.session.expires, instance=frames.instance,
            version=frames.current.version, has_history=self._has_history, has_decisions=not self._cycles.problem,
            owner_label=self._owner_label,
        )  # fmt: skip
