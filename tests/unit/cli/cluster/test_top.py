"""The screen of `stromboli top`: what is on it, and what keys do."""

from __future__ import annotations

import pytest

from stromboli.cli.text.cluster.top import VIEWS, TopFrame, TopState, rendered
from stromboli.planner.overview.job_list import JobEntry
from stromboli.planner.overview.node_list import NodeAmount, NodeListEntry
from stromboli.planner.overview.queue_list import QueueEntry
from tests.testing.manifests.builders import nodes
from tests.unit.cli.conftest import Run


def job(number: int, phase: str = "Running") -> JobEntry:
    return JobEntry(f"team/job-{number}", "team", f"job-{number}", "research", phase, 1, 2, 0, "needs 8 cpu", 0.0)


def queue(name: str) -> QueueEntry:
    return QueueEntry(name, "", 0, "Open", 1, 0, True, {"cpu": "4"}, {}, {}, {}, {}, 0.5, 1, 2)


def frame(jobs: int = 3) -> TopFrame:
    entries = [job(number, "Pending" if number % 2 else "Running") for number in range(jobs)]
    listed = [NodeListEntry("a", "Ready", [NodeAmount("cpu", "1", "3", "4", 0.75)], 2, {})]
    return TopFrame(entries, [queue("root"), queue("research")], listed, 0.0, "production", "12:00:00")


def screen(state: TopState, width: int = 100, height: int = 12, problem: str = "", jobs: int = 3) -> list[str]:
    return [line.plain for line in rendered(frame(jobs), state, width, height, problem)]


FIRST = """\
 stromboli top  production   3 jobs, 1 waiting                                             12:00:00
  1 Jobs 3   2 Queues 1   3 Nodes 1

 NAMESPACE  JOB    QUEUE     PHASE    READY  POSITION  STARTS  AGE  REASON
 team       job-0  research  Running    1/2         -       -    -  needs 8 cpu
 team       job-1  research  Pending    1/2         -       -    -  needs 8 cpu
 team       job-2  research  Running    1/2         -       -    -  needs 8 cpu
"""


def test_screen_begins_with_the_jobs() -> None:
    lines = [line.rstrip() for line in screen(TopState())]
    assert lines[:7] == FIRST.splitlines()
    assert lines[-1].startswith(" 1 2 3 Tab: view")


HEADERS = {"jobs": "NAMESPACE", "queues": "QUEUE", "nodes": "NODE"}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("width", "height"), [(40, 5), (80, 24), (200, 60)])
def test_views_fit_every_terminal(view: str, width: int, height: int) -> None:
    lines = screen(TopState(view=view), width, height, jobs=100)
    assert len(lines) == height
    assert max(map(len, lines)) < width
    assert lines[3].split()[0] == HEADERS[view]


KEYS = {
    "second view": ("2", TopState(view="queues")),
    "next view": ("\t", TopState(view="queues")),
    "waiting jobs": ("w", TopState(only_waiting=True)),
    "down": ("\x1b[B", TopState(offset=1)),
    "page down": ("\x1b[6~", TopState(offset=10)),
    "not above the beginning": ("\x1b[A", TopState()),
    "quit": ("q", TopState(is_over=True)),
    "unknown": ("x", TopState()),
    "none": ("", TopState()),
}


@pytest.mark.parametrize("case", KEYS)
def test_keys_change_what_is_shown(case: str) -> None:
    key, state = KEYS[case]
    assert TopState().after(key, 10) == state


def test_last_view_is_followed_by_the_first() -> None:
    assert TopState(view="nodes").after("\t", 10).view == "jobs"


def test_scrolling_ends_at_the_last_row_and_shows_the_part() -> None:
    lines = screen(TopState(offset=1000), height=15, jobs=40)
    assert "job-39" in lines[13]
    assert lines[-1].endswith("31-40 of 40")


def test_only_waiting_jobs_are_shown_where_wanted() -> None:
    lines = screen(TopState(only_waiting=True))
    assert [line.split()[1] for line in lines[4:6] if line.strip()] == ["job-1"]
    assert "waiting only" in lines[1]


def test_problem_replaces_the_help() -> None:
    assert screen(TopState(), problem="the API server is unreachable\x1b[2J")[-1] == " the API server is unreachable[2J"


def test_without_a_terminal_another_command_is_named(run: Run) -> None:
    result = run("top", nodes(1, 1))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: top needs a terminal; elsewhere use stromboli jobs, queues or nodes\n"
