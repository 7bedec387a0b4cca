"""The console of `stromboli up`: the printed link logs in, and the pages show what its scheduler decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.integration.console.pages.stage import Visitor
from tests.testing.browser import WatchedPage
from tools.console_picture import running_console


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_console(tmp_path_factory.mktemp("up")) as found:
        yield found


def test_decisions_of_a_local_cluster(link: str, watched: WatchedPage, artefacts: Path) -> None:
    visitor = Visitor(link.partition("/#")[0], watched, artefacts, expected=["401"])
    page = visitor.page
    page.goto(link)
    visitor.sees("Why jobs wait")
    page.get_by_role("link", name="Decisions").click()
    page.get_by_role("button", name="With decisions").click()
    cycles = page.locator(".cycles tbody tr")
    expect(cycles.first).to_be_visible(timeout=30_000)
    cycles.last.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Bound")).to_be_visible()
    visitor.sees("Scheduler: stromboli.")
    visitor.check("cycle")
    page.get_by_role("region", name="Bound").get_by_role("link").first.click()
    visitor.sees("Time line")
    visitor.check("job-of-up")
