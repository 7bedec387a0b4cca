"""Whether a source of figures answers: each change between failing and working is logged once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

from stromboli.external.endpoints import EndpointError
from stromboli.external.figures import SourceProblem
from stromboli.kube.client.api_errors import RequestFailed

log = logging.getLogger("stromboli.usage")


class SourceHealth:
    """`report` is called when a problem begins, and with an empty text when it is over: it logs both."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        #: Why there is no new answer; empty if there is.
        self.problem = ""

    @contextlib.asynccontextmanager
    async def query(self, timeout: float) -> AsyncIterator[None]:
        """Limit the time of a query, and note whether it fails."""
        try:
            async with asyncio.timeout(timeout):
                yield
        except TimeoutError:
            self.fail(f"no response within {timeout:g} s")
        except (RequestFailed, EndpointError, SourceProblem) as error:
            self.fail(str(error))
        except Exception as error:
            log.exception("usage not read: internal error; retrying")
            self.problem = str(error) or type(error).__name__
        else:
            self._recover()

    def fail(self, problem: str) -> None:
        if not self.problem:
            self._report(problem)
        self.problem = problem

    def _recover(self) -> None:
        if self.problem:
            self._report("")
        self.problem = ""

    def reset(self) -> None:
        """Forget the problem of a source that is not queried any more."""
        self.problem = ""
