"""Every page of the console in a browser: by its link, in both themes, on a phone, with keys, and live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.integration.console.pages.stage import ANA, StageCluster, Visitor
from tests.testing.manifests.builders import gang

#: A text that each page shows when it has read its documents.
PAGES = {
    "overview": ("/", "Why jobs wait"),
    "jobs": ("/jobs", "secret-job"),
    "job": ("/jobs/team-a/huge", "The smallest change that lets it start"),
    "running-job": ("/jobs/team-a/train", "Time line"),
    "queues": ("/queues", "research"),
    "queue": ("/queues/research", "jobs are preemptible"),
    "nodes": ("/nodes", "node-07"),
    "node": ("/nodes/node-00?resource=cpu", "on node-00"),
    "decisions": ("/decisions", "Decisions"),
    "what-if": ("/what-if", "Objects to submit"),
    "policy": ("/what-if?mode=policy", "Plan with it"),
    "history": ("/history", "Jobs over time"),
    "missing": ("/no/such/page", "There is no page at this address."),
}


@pytest.mark.parametrize("name", PAGES)
def test_page_opens_by_its_link(visitor: Visitor, name: str) -> None:
    path, text = PAGES[name]
    visitor.log_in(path)
    visitor.sees(text)
    visitor.settle()
    visitor.check(name)


@pytest.mark.parametrize("name", ["overview", "jobs", "running-job", "node", "queue", "decisions", "history"])
def test_page_in_the_dark_theme_on_a_phone(visitor: Visitor, name: str) -> None:
    path, text = PAGES[name]
    visitor.page.set_viewport_size({"width": 375, "height": 812})
    visitor.page.emulate_media(color_scheme="dark")
    visitor.log_in(path)
    visitor.sees(text)
    visitor.settle()
    visitor.check(f"{name}-phone")


@pytest.mark.parametrize(
    ("second", "titles"), [("stromboli", ["Cycle", "Time"]), ("stromboli, shard east", ["Cycle", "Scheduler", "Time"])]
)
def test_cycles_of_several_schedulers_have_their_names(visitor: Visitor, second: str, titles: list[str]) -> None:
    counts = dict.fromkeys(("seconds", "binds", "evictions", "pipelined", "waiting"), 1)
    cycles = [
        {"number": number, "scheduler": name, "time": 1.0, **counts} for number, name in ((2, second), (1, "stromboli"))
    ]
    visitor.page.route(
        "**/api/cycles?*", lambda route: route.fulfill(json={"instance": "one", "cycles": cycles, "note": ""})
    )
    visitor.log_in("/decisions")
    headings = visitor.page.locator(".cycles thead th")
    expect(headings.first).to_be_visible()
    assert headings.all_inner_texts()[: len(titles)] == titles
    assert visitor.page.get_by_role("cell", name=second, exact=True).count() == ("Scheduler" in titles)
    visitor.check_quiet()


def test_hidden_budgets_alone_are_counted_without_an_empty_table(visitor: Visitor) -> None:
    usage = {"instance": "one", "since": 0.0, "until": 1.0, "queues": [], "budgets": [], "hiddenBudgets": 2}
    visitor.page.route("**/api/queue-usage?*", lambda route: route.fulfill(json=usage))
    visitor.log_in("/queues")
    visitor.sees("No budget that you may read.")
    visitor.sees("And 2 budgets of users or namespaces that you may not read.")
    assert visitor.page.get_by_role("group", name="Budgets").count() == 0
    visitor.check_quiet()


def test_filters_are_links_and_the_back_button_returns(visitor: Visitor) -> None:
    visitor.log_in("/jobs?search=train")
    rows = visitor.page.get_by_role("table", name="Jobs").locator(".body .row")
    expect(rows).to_have_count(1)
    visitor.page.get_by_role("link", name="train", exact=True).click()
    expect(visitor.page).to_have_title("train · Stromboli")
    visitor.page.go_back()
    expect(rows).to_have_count(1)
    expect(visitor.page.get_by_label("Search jobs")).to_have_value("train")
    visitor.page.get_by_role("button", name="Clear").click()
    expect(rows).not_to_have_count(1)
    visitor.check_quiet()


def test_keys_reach_pages_search_and_rows(visitor: Visitor) -> None:
    visitor.log_in("/")
    keyboard = visitor.page.keyboard
    keyboard.press("g")
    keyboard.press("j")
    expect(visitor.page).to_have_title("Jobs · Stromboli")
    visitor.sees("huge")
    keyboard.press("/")
    expect(visitor.page.get_by_label("Search jobs")).to_be_focused()
    keyboard.type("huge")
    visitor.page.get_by_role("table", name="Jobs").focus()
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(visitor.page).to_have_title("huge · Stromboli")
    keyboard.press("?")
    expect(visitor.page.get_by_role("dialog", name="Keys")).to_be_visible()
    keyboard.press("Escape")
    expect(visitor.page.get_by_role("dialog", name="Keys")).to_be_hidden()
    visitor.check_quiet()


def test_new_job_appears_without_a_reload(visitor: Visitor, stage: StageCluster) -> None:
    visitor.log_in("/jobs?search=arrival")
    table = visitor.page.get_by_role("table", name="Jobs")
    expect(table).to_be_visible()
    stage.apply(gang(1, cpu=1, name="arrival", namespace="team-b", queue="production"))
    expect(table.get_by_role("link", name="arrival")).to_be_visible(timeout=30_000)
    expect(table.get_by_text("Running")).to_be_visible(timeout=30_000)
    visitor.check_quiet()


def test_plan_of_pasted_objects_shows_where_pods_go(visitor: Visitor) -> None:
    visitor.log_in("/what-if")
    visitor.page.get_by_label("YAML or JSON of objects", exact=True).fill(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: trial, namespace: team-a}\n"
        "spec: {schedulerName: stromboli, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n"
    )
    visitor.page.get_by_role("button", name="Try").click()
    visitor.sees("Jobs at the end of the plan")
    expect(visitor.page.get_by_text(re.compile("trial")).first).to_be_visible()
    visitor.check("plan")


def test_proposed_change_is_tried_as_a_plan(visitor: Visitor) -> None:
    visitor.log_in("/jobs/team-a/huge")
    visitor.page.get_by_role("button", name="Try it").first.click()
    visitor.sees("Jobs at the end of the plan")
    first = visitor.page.locator("tbody tr").first
    expect(first).to_contain_text("team-a/huge")
    expect(first).to_contain_text("3 / 3")
    visitor.check("change")


def test_invalid_objects_get_an_error_with_field_and_line(visitor: Visitor) -> None:
    visitor.expected.append("422")
    visitor.expected.append("400")
    visitor.log_in("/what-if")
    visitor.page.get_by_label("YAML or JSON of objects", exact=True).fill("kind: Pod\nspec: [")
    visitor.page.get_by_role("button", name="Try").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text(re.compile("line|manifests.yaml"), timeout=30_000)
    visitor.check_quiet()


def test_two_policies_are_compared(visitor: Visitor) -> None:
    visitor.log_in("/what-if?mode=diff")
    after = visitor.page.get_by_label("After", exact=True)
    expect(after).to_have_value(re.compile("actions"))
    after.fill('actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n')
    visitor.page.get_by_role("button", name="Compare", exact=True).click()
    visitor.sees("jobs differ")
    visitor.check("policy-diff")


def test_tenant_sees_names_of_one_namespace_only(visitor: Visitor) -> None:
    visitor.log_in("/jobs", token=ANA)
    visitor.sees("huge")
    visitor.sees("And jobs of namespaces that you may not read")
    visitor.check("tenant-jobs")
    for path in ("/", "/queues", "/nodes", "/history", "/decisions", "/jobs/team-a/huge", "/what-if"):
        visitor.open(path)
        visitor.settle()
        text = visitor.page.content()
        assert not re.search(r"secret-job|team-b|\bserve\b", text), path
    visitor.check_quiet()


def test_wrong_token_is_refused_and_logout_ends_the_session(visitor: Visitor) -> None:
    visitor.expected.append("401")
    visitor.page.goto(visitor.url)
    visitor.page.get_by_label("Token of the API server").fill("wrong")
    visitor.page.get_by_role("button", name="Log in").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("does not accept the token")
    visitor.check("login")
    visitor.log_in("/")
    visitor.page.get_by_label("Session").click()
    visitor.page.get_by_role("button", name="Log out").click()
    expect(visitor.page.get_by_label("Token of the API server")).to_be_visible()
    visitor.page.reload()
    expect(visitor.page.get_by_label("Token of the API server")).to_be_visible()
    visitor.check_quiet()


def test_simulation_of_the_present_cluster_shows_waits(visitor: Visitor) -> None:
    visitor.log_in("/what-if?mode=simulate")
    visitor.page.get_by_role("button", name="Simulate", exact=True).last.click()
    visitor.sees("Jobs that started")
    visitor.check("simulation")
