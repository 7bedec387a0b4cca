"""The whole demo in virtual time: its sequence, and frames in which all parts agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from stromboli.cli.commands.trial.demo import EXAMPLE, SECONDS, demo_policy, play
from stromboli.cli.examples import examples_folder
from stromboli.cli.stages import read_stages
from stromboli.cli.text.live.display import ChangePrinter, LiveView
from stromboli.cli.text.live.frame import SETTLED
from stromboli.cli.text.live.screen import View, rendered
from stromboli.cluster.state.cluster import Cluster
from stromboli.local.up.local_cluster import local_cluster
from tests.testing.virtual_time import run_virtually

#: Real seconds that the parts of the cluster have for an answer before the clock advances.
GRACE = 0.005

SEQUENCE = [
    ("serve", "4 pods bound together"),
    ("train", "6 pods bound together"),
    ("sweep", "6 pods bound together"),
    ("train", "4 pods evicted, preempted by urgent"),
    ("urgent", "4 pods bound together"),
    ("sweep", "6 pods evicted, reclaimed by etl"),
    ("etl", "4 pods bound together"),
    ("train", "2 pods bound together"),
    ("etl", "completed"),
    ("train", "2 pods bound together"),
    ("eval", "2 pods bound together"),
    ("urgent", "completed"),
    ("eval", "completed"),
    ("sweep", "6 pods bound together"),
]


async def recorded() -> list[View]:
    """Run the demo and return its frames, each compared with the pods of that moment."""
    views: list[View] = []
    stages = read_stages([str(examples_folder() / EXAMPLE)])
    async with local_cluster(demo_policy()) as running:
        view = LiveView(running.scheduler, "stromboli demo")

        def show(shown: View) -> None:
            check_pods(shown, running.scheduler.cluster)
            views.append(shown)

        await running.run_until(asyncio.Event(), SECONDS, view.run_with(show), play(running, view, stages))
    return views


def check_pods(view: View, cluster: Cluster) -> None:
    """Compare a frame with the objects of the same moment."""
    for job in view.frame.jobs:
        pods = [pod for pod in cluster.pods.of_job(job.key) if pod.metadata.uid not in cluster.assumptions.leaving]
        phases = Counter(pod.status.phase for pod in pods if pod.metadata.deletion_timestamp is None)
        assert (job.running, job.succeeded) == (phases["Running"], phases["Succeeded"]), job


@pytest.fixture(scope="module")
def views() -> list[View]:
    return run_virtually(recorded(), GRACE)


def test_demo_shows_gangs_borrowing_preemption_and_reclaim(views: list[View]) -> None:
    happened = [(event.subject, event.message) for event in views[-1].events if event.kind != "Submitted"]
    assert Counter(happened) == Counter(SEQUENCE)
    evictions = [entry for entry in happened if "evicted" in entry[1]]
    assert evictions == [entry for entry in SEQUENCE if "evicted" in entry[1]]


def test_research_borrows_what_production_leaves_idle_and_returns_it(views: list[View]) -> None:
    borrowed = [
        sum(max(queue.allocated - (queue.deserved or 0), 0) // 1000 for queue in view.frame.queues) for view in views
    ]
    by_stage = {view.caption[:3]: number for view, number in zip(views, borrowed, strict=True)}
    assert by_stage == {"": 0, "1/6": 0, "2/6": 4, "3/6": 4, "4/6": 4, "5/6": 0, "6/6": 4}


def test_impossible_job_waits_with_its_reason_to_the_end(views: list[View]) -> None:
    (giant,) = (job for job in views[-1].frame.jobs if job.name == "giant")
    assert (giant.phase, giant.running) == ("Inqueue", 0)
    assert giant.reason


def test_parts_of_every_frame_agree(views: list[View]) -> None:
    for view in views:
        frame = view.frame
        assert frame.used == sum(queue.allocated for queue in frame.queues)
        assert all(sum(node.used.values()) + node.leaving <= node.capacity for node in frame.nodes)
        for job in frame.jobs:
            assert not (job.phase in SETTLED and job.reason), job
            assert job.phase != "Running" or job.running + job.succeeded >= job.minimum, job
            assert not ("no pods" in job.reason and job.pods), job


def test_every_frame_fits_80_columns_and_24_lines(views: list[View]) -> None:
    for view in views:
        lines = rendered(view, 80, 24)
        assert len(lines) == 24
        assert max(line.cell_len for line in lines) <= 80
        assert not lines[1].plain.endswith("…")


def test_changes_are_printed_once(views: list[View], capsys: pytest.CaptureFixture[str]) -> None:
    printer = ChangePrinter()
    for view in views:
        printer.show(view)
    lines = capsys.readouterr().out.splitlines()
    assert "00:00 1/6  Two gangs start: all pods that must start together, or none of them." in lines
    assert sum("giant: submitted to queue research" in line for line in lines) == 1
    assert any(line.endswith("sweep: 6 pods evicted, reclaimed by etl") for line in lines)
    assert all(first != second for first, second in pairwise(lines))
