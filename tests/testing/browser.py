"""A headless browser for tests of pages: Chromium of the distribution, controlled by Playwright.

The driver runs an event loop in the thread of the test, so that the browser is started by module: tests of coroutines
in other modules have loops of their own. A module with these fixtures has no such tests.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")


@dataclass(slots=True)
class WatchedPage:
    """A page, what its scripts reported, and what it asked of any network."""

    page: Page
    #: Errors and warnings on the console, and uncaught exceptions.
    problems: list[str] = field(default_factory=list)
    #: Addresses of requests, except for files and data within the page.
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self._report(message.type, message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self._request(request.url))

    def _report(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")

    def _request(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.requests.append(url)


@contextlib.contextmanager
def running_browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed (apt-get install chromium)")
    with sync_playwright() as driver:
        # Chromium refuses to start as root with its sandbox; pages of tests are the project's own.
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as started:
        yield started


@pytest.fixture
def watched(browser: Browser) -> Iterator[WatchedPage]:
    """Return an empty page of a browser without any state."""
    with browser.new_context() as context:
        yield WatchedPage(context.new_page())
