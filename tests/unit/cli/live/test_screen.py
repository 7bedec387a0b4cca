"""The live view on fixed states and on terminals of any size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cli.text.live.cycles import ViewEvent
from stromboli.cli.text.live.frame import Frame, JobRow, NodeRow, QueueRow
from stromboli.cli.text.live.screen import View, rendered
from tests.testing.random_clusters.effort import examples

GPU = "nvidia.com/gpu"
LONG = "a reason that is too long for the line; more"
TWO_CLAUSES = "preempted by urgent; needs 1 GPU, most free is 0"
JOBS = (
    JobRow("default/serve", "serve", "production", "Running", 4, 4, 0, 4),
    JobRow("default/train", "train", "research", "Running", 2, 2, 0, 6),
    JobRow("default/giant", "giant", "research", "Inqueue", 12, 0, 0, 12, "needs 24 GPUs, cluster has 16"),
    JobRow("default/sweep", "sweep", "research", "Completed", 6, 0, 6, 6),
    JobRow("default/urgent", "urgent", "research", "Pending", 4, 0, 0, 0, LONG),
    JobRow("default/etl", "etl", "production", "Releasing", 4, 0, 0, 4, TWO_CLAUSES),
)
NODES = (
    NodeRow("gpu-0", 4000, {"production": 1000, "research": 3000}),
    NodeRow("gpu-1", 4000, {"research": 2000}, leaving=1000),
)
QUEUES = (QueueRow("production", 1000, 4000), QueueRow("research", 5000, 4000))
EVENTS = (
    ViewEvent(1, 4.2, "Bound", "sweep", "6 pods bound together"),
    ViewEvent(2, 12.9, "Evicted", "train", "4 pods evicted, preempted by urgent"),
)
DEMO = View(
    Frame(GPU, JOBS, NODES, QUEUES), "stromboli demo", 75.0, "4/6  An urgent job preempts.", "Ctrl-C stops.", EVENTS
)

SCREEN = """\
 stromboli demo  2 nodes   GPU 6/8 in use   pods 6/26 running             01:15
 4/6  An urgent job preempts.

 JOB     QUEUE         PHASE     MIN  PODS  WHY IT WAITS
 serve   ■ production  Running     4   4/4
 train   ● research    Running     2   2/6
 giant   ● research    Inqueue    12  0/12  needs 24 GPUs, cluster has 16
 sweep   ● research    Completed   6   6/6
 urgent  ● research    Pending     4   0/4  a reason that is too long for the …
 etl     ■ production  Releasing   4   0/4  preempted by urgent

 NODE   GPU            QUEUE         GPU allocated│deserved
 gpu-0  ■ ● ● ● 4/4    ■ production  ■ · · · │ · · · · 1/4
 gpu-1  ● ● □ · 2/4    ● research    ● ● ● ● │ ● · · · 5/4, 1 borrowed

 LAST EVENTS
 00:12  train  4 pods evicted, preempted by urgent
 00:04  sweep  6 pods bound together





 Ctrl-C stops.
"""


def plain(view: View, width: int = 80, height: int = 24) -> list[str]:
    return [line.plain.rstrip() for line in rendered(view, width, height)]


def test_screen_of_80_columns_and_24_lines() -> None:
    assert plain(DEMO) == SCREEN.splitlines()


def many(jobs: int, nodes: int, queues: int = 2, events: int = 0) -> View:
    names = [f"queue-{number}" for number in range(queues)]
    frame = Frame(
        "cpu",
        tuple(JobRow(f"default/job-{n}", f"job-{n}", names[n % queues], "Running", 1, 1, 0, 1) for n in range(jobs)),
        tuple(NodeRow(f"node-{n}", 64_000, {names[0]: 1000 * (n % 64)}) for n in range(nodes)),
        tuple(QueueRow(name, 1000) for name in names),
    )
    return View(frame, "stromboli up", 0.0, events=[ViewEvent(n, n, "Bound", "job", "bound") for n in range(events)])


@pytest.mark.parametrize(
    ("view", "height", "wanted"),
    [
        (many(jobs=19, nodes=4), 24, ["+10 more"]),
        (many(jobs=19, nodes=4, events=50), 24, ["+12 more"]),
        (many(jobs=7, nodes=16, events=9), 24, ["+12 more"]),
        (many(jobs=3, nodes=2, queues=9), 24, []),
        (many(jobs=40, nodes=100, events=50), 60, ["+21 more", "+85 more"]),
    ],
    ids=["jobs", "jobs and events", "nodes", "queues", "tall terminal"],
)
def test_rows_that_do_not_fit_are_counted(view: View, height: int, wanted: Sequence[str]) -> None:
    text = "\n".join(plain(view, height=height))
    assert [f"+{word.split()[0]} more" for word in text.split("+")[1:]] == list(wanted)


@pytest.mark.parametrize("width", range(80, 150, 7))
def test_amounts_are_not_cut(width: int) -> None:
    node, queue = NodeRow("node-000", 64_000, {"default": 49_500}), QueueRow("default", 1_633_500, 1_500_000)
    frame = Frame("cpu", (), (node,) * 30, (queue,))
    line = next(line for line in plain(View(frame, "stromboli up", 0.0), width) if line.startswith(" node-000"))
    assert "49.5/64" in line
    assert line.endswith("1633.5/1500, 133.5 borrowed")


def test_bars_keep_their_length_when_amounts_change() -> None:
    def bar(allocated: int) -> str:
        frame = Frame(GPU, (), (NodeRow("gpu-0", 16_000, {"q": allocated}),), (QueueRow("q", allocated, 8000),))
        line = next(line for line in plain(View(frame, "stromboli up", 0.0)) if line.startswith(" gpu-0"))
        return line.split()[-2 if allocated <= 8000 else -4]

    bars = [bar(allocated) for allocated in (0, 8000, 12_000)]
    assert bars == ["········│········", "■■■■■■■■│········", "■■■■■■■■│■■■■····"]


def test_waiting_jobs_are_shown_before_completed_ones() -> None:
    done = tuple(JobRow(f"default/a-{n}", f"a-{n}", "q", "Completed", 1, 0, 1, 1) for n in range(20))
    view = View(Frame("cpu", (*done, JOBS[2]), (), ()), "stromboli up", 0.0)
    assert any(line.startswith(" giant") for line in plain(view))


def test_names_cannot_control_the_terminal() -> None:
    job = JobRow("default/x", "\x1b[2Jevil", "q\r", "Running", 1, 1, 0, 1)
    node = NodeRow("node\x07", 1000, {})
    view = View(Frame("cpu", (job,), (node,), (QueueRow("q\r", 0),)), "stromboli up", 0.0)
    assert all(line.isprintable() for line in plain(view))


names = st.text(max_size=40)
amounts = st.integers(0, 10**7)


@st.composite
def views(draw: st.DrawFn) -> View:
    counts = st.integers(0, 20_000)
    queues = draw(st.lists(names, max_size=6, unique=True))
    in_queues = st.dictionaries(st.sampled_from([*queues, ""]), amounts, max_size=3)
    phases = st.sampled_from(["Pending", "Inqueue", "Starting", "Running", "Releasing", "Completed", "Unknown"])
    job = st.builds(JobRow, names, names, names, phases, counts, counts, counts, counts, names)
    node = st.builds(NodeRow, names, amounts, in_queues, amounts)
    queue_rows = tuple(QueueRow(name, draw(amounts), draw(st.none() | amounts)) for name in queues)
    frame = Frame(
        draw(st.sampled_from(["cpu", GPU])),
        draw(st.lists(job, max_size=9).map(tuple)),
        draw(st.lists(node, max_size=9).map(tuple)),
        queue_rows,
    )
    kinds = st.sampled_from(["Submitted", "Bound", "Evicted", "Completed"])
    events = draw(st.lists(st.builds(ViewEvent, counts, st.floats(0, 1e5), kinds, names, names), max_size=9))
    return View(frame, "stromboli up", draw(st.floats(0, 1e5)), draw(names), draw(names), events)


@examples(60)
@given(views(), st.integers(20, 200), st.integers(10, 80))
def test_every_state_fits_every_terminal(view: View, width: int, height: int) -> None:
    lines = rendered(view, width, height)
    assert len(lines) == height
    assert all(line.cell_len <= width and "\n" not in line.plain for line in lines)
