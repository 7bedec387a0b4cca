"""Reports in a browser: every picture is drawn, without a network, an error, or trust in names of a trace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from stromboli.cli import main
from tests.testing.browser import WatchedPage, browser, watched

__all__ = ["browser", "watched"]

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
HOSTILE = "</script><img src=x onerror=alert(1)>"
#: What marks of pictures are, apart from axes and legends.
MARKS = "figure[data-name='{}'] svg g.role-mark path, figure[data-name='{}'] svg g.role-mark line"
COMPARED = [
    "wait-distribution", "slowdown-by-size", "waiting-jobs", "utilisation-cpu", "utilisation-gpu", "fragmentation",
]  # fmt: skip
OF_RUNS = ["queue-areas", "queue-shares", "node-gantt", "job-gantt", "node-map", "fragmentation-map"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compare two policies, one of whose names is markup, on jobs whose names are, too."""
    folder = tmp_path_factory.mktemp("report")
    numbers = range(60)
    jobs = [f"{each},{HOSTILE} {each},{100 + 7 * each},{each % 3 * 1000},{'ab'[each % 2]}" for each in numbers]
    trace = folder / f"{HOSTILE.replace('/', '')}.csv"
    trace.write_text("\n".join(["submitted,name,run_time,gpu,queue", *jobs]) + "\n")
    confs = []
    for name, source in (("fcfs", "fcfs"), (HOSTILE.replace("/", ""), "easy")):
        confs += ["--conf", str(folder / f"{name}.conf")]
        (folder / f"{name}.conf").write_text((POLICIES / f"{source}.conf").read_text())
    options = ("--nodes", "3", "--gpus-per-node", "2", "--queues", "queue", "--seeds", "2", "--workers", "1")
    page = folder / "report.html"
    mapping = folder / "columns.yaml"
    properties = ("submitted", "name", "run_time", "gpu", "queue")
    mapping.write_text("columns:\n" + "".join(f"  {name}: {name}\n" for name in properties))
    arguments = ["--trace", str(trace), "--columns", str(mapping), *confs, *options, "--report", str(page)]
    result = CliRunner().invoke(main, ["simulate", *arguments, "--failures", "exponential:2h"])
    assert result.exit_code == 0, result.output
    return page


def drawn(page: WatchedPage, report: Path) -> None:
    page.page.goto(report.as_uri())
    page.page.wait_for_selector("html[data-drawn]", timeout=60_000, state="attached")


def test_every_picture_has_marks_and_nothing_is_requested(watched: WatchedPage, report: Path, tmp_path: Path) -> None:
    drawn(watched, report)
    counts = {name: watched.page.locator(MARKS.format(name, name)).count() for name in (*COMPARED, *OF_RUNS)}
    assert {name for name, count in counts.items() if not count} == set()
    assert watched.page.locator("figure.vega-embed").count() == len(COMPARED) + 2 * len(OF_RUNS)
    watched.page.screenshot(path=tmp_path / "report.png", full_page=True)
    assert (watched.problems, watched.requests) == ([], [])


def test_names_of_traces_and_policies_are_text(watched: WatchedPage, report: Path) -> None:
    drawn(watched, report)
    assert watched.page.locator("img").count() == 0
    assert watched.page.locator("h1").inner_text().count("<img src=x onerror=alert(1)>") == 2
    assert "waits" in watched.page.locator(".verdict").inner_text()


def test_content_security_policy_allows_no_other_script(report: Path) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', report.read_text(encoding="utf-8"))
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_pointer_shows_figures(watched: WatchedPage, report: Path) -> None:
    drawn(watched, report)
    watched.page.locator("figure[data-name='node-gantt'] svg g.role-mark path").nth(3).hover()
    tooltip = watched.page.locator("#vg-tooltip-element.visible")
    assert f"{HOSTILE} " in tooltip.inner_text()
    assert watched.problems == []


def test_pictures_follow_the_width_of_a_phone(browser: Browser, report: Path, tmp_path: Path) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True) as context:
        page = WatchedPage(context.new_page())
        drawn(page, report)
        page.page.screenshot(path=tmp_path / "phone.png", full_page=True)
        widths = [picture.bounding_box() for picture in page.page.locator("figure svg").all()]
        assert all(box is not None and 250 < box["width"] <= 390 for box in widths)
        assert page.page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.problems == []


def test_dark_mode_has_light_texts(browser: Browser, report: Path, tmp_path: Path) -> None:
    with browser.new_context(color_scheme="dark") as context:
        page = WatchedPage(context.new_page())
        drawn(page, report)
        page.page.screenshot(path=tmp_path / "dark.png", full_page=True)
        style = "element => getComputedStyle(element).fill"
        assert page.page.locator("figure svg text").first.evaluate(style) == "rgb(230, 237, 243)"


def test_pictures_are_there_without_scripts(browser: Browser, report: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(report.as_uri())
        for name in (*COMPARED, *OF_RUNS):
            assert page.locator(MARKS.format(name, name)).count(), name
