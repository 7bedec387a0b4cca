"""The console with 10,000 jobs, with hostile names, and while its server starts again."""

from __future__ import annotations

import time

import msgspec
import pytest
from playwright.sync_api import Route, expect

from stromboli.console.documents.base import HiddenCount
from stromboli.console.documents.jobs import JobColumns, JobListing
from tests.integration.console.pages.stage import (
    HOSTILE,
    StageCluster,
    Visitor,
    hostile_objects,
    start_console,
    until,
)

MANY = 10_000


def many_jobs(version: int) -> JobListing:
    """A table as the server sends it."""
    now = int(time.time())
    columns = JobColumns(
        keys=[f"team-{place % 20}/job-{place:05}" for place in range(MANY)],
        names=[f"job-{place:05}" for place in range(MANY)],
        queues=[place % 3 for place in range(MANY)], phases=[3 + place % 2 for place in range(MANY)],
        ready=[place % 2 for place in range(MANY)], minimum=[1] * MANY, priorities=[0] * MANY,
        positions=[0] * MANY, reasons=[5 + place % 2 for place in range(MANY)], owners=[7] * MANY, kinds=[7] * MANY,
        created=[now - place for place in range(MANY)], earliest=[0] * MANY, latest=[0] * MANY,
        texts=["research", "production", "batch", "Pending", "Running", "queue is full", "", ""],
    )  # fmt: skip
    return JobListing(instance="many", version=version, columns=columns, hidden=HiddenCount())


def test_ten_thousand_jobs_scroll_sort_and_filter(visitor: Visitor) -> None:
    content = msgspec.json.encode(many_jobs(0)).decode()

    def table(route: Route) -> None:
        route.fulfill(body=content, content_type="application/json")

    # Only the table is another one: session, events and pages are those of the server.
    visitor.page.route("**/api/job-table", table)
    visitor.page.route("**/api/events?jobs=0", lambda route: route.continue_(url=f"{visitor.url}/api/events"))
    visitor.log_in("/jobs")
    rows = visitor.page.get_by_role("table", name="Jobs").locator(".body .row")
    expect(rows.first).to_contain_text("job-00000")
    assert rows.count() < 100, "rows outside of the view are not in the page"
    visitor.page.get_by_role("table", name="Jobs").focus()
    visitor.page.keyboard.press("End")
    expect(rows.last).to_contain_text("job-09989")
    visitor.page.get_by_role("button", name="Job", exact=True).click()
    visitor.page.keyboard.press("Home")
    visitor.page.get_by_label("Search jobs").fill("job-0777")
    expect(rows).to_have_count(10)
    visitor.page.get_by_label("State").select_option("running")
    expect(rows).to_have_count(5)
    visitor.check("many-jobs")


@pytest.fixture
def hostile(stage: StageCluster) -> None:
    stage.apply(hostile_objects())


@pytest.mark.usefixtures("hostile")
def test_hostile_names_are_text(visitor: Visitor) -> None:
    visitor.log_in("/jobs?namespace=team-a&search=hostile")
    rows = visitor.page.get_by_role("table", name="Jobs").locator(".body .row")
    expect(rows).to_have_count(len(HOSTILE), timeout=30_000)
    text = "\n".join(rows.all_text_contents())
    assert all(name in text for name in HOSTILE)
    for place in range(len(HOSTILE)):
        visitor.open(f"/jobs/team-a/podgroup-hostile-{place}")
        expect(visitor.page.locator("h1")).to_have_text(HOSTILE[place])
        assert visitor.page.evaluate("window.broken") is None
        visitor.check(f"hostile-{place}")


def test_page_returns_when_the_server_starts_again(visitor: Visitor, stage: StageCluster) -> None:
    server = start_console(stage)
    address = str(server.address)
    visitor.url = server.url
    visitor.expected += ["Failed to load resource", "ERR_CONNECTION_REFUSED", "401", "ERR_INCOMPLETE_CHUNKED_ENCODING"]
    visitor.log_in("/jobs?search=train")
    visitor.sees("train")
    server.stop()
    banner = visitor.page.get_by_role("alert")
    expect(banner).to_contain_text("The server does not answer", timeout=30_000)
    visitor.sees("train")
    visitor.check("server-away")
    again = start_console(stage, address)
    try:
        # Sessions are in memory: the person logs in again, and is at the same page.
        token = visitor.page.get_by_label("Token of the API server")
        expect(token).to_be_visible(timeout=30_000)
        until(lambda: visitor.page.url.endswith("/jobs?search=train"))
        token.fill("token-of-root")
        visitor.page.get_by_role("button", name="Log in").click()
        visitor.page.get_by_text("Live", exact=True).wait_for()
        visitor.sees("train")
        expect(visitor.page.get_by_role("alert")).to_have_count(0)
        visitor.check_quiet()
    finally:
        again.stop()
