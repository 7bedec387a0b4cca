"""What the strategies of backfill do in time: who needs much starts when it was promised, and holes are filled."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.simulator.measurements import SimulationMeasurements
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import gang_of, node, nodes, pod, priority_class
from tests.testing.simulations import ARRIVES_AFTER, RUN_TIME, job, minutes, simulate, starts, strategy

EASY, CONSERVATIVE = strategy("easy"), strategy("conservative")

#: Two nodes, almost full for long, and a gang that needs both whole.
NODES = nodes(4, 2)
BEFORE = [job("old-a", 1, 3, 60), job("old-b", 1, 3, 90)]
LARGE = job("large", 2, 4, 30, after=1)


def small(after: int) -> list[Any]:
    """Small jobs that keep coming for three hours."""
    return [job(f"small-{n:02}", 1, 1, 25, after=after + 5 * n) for n in range(36)]


def used(measured: SimulationMeasurements, until: int) -> float:
    return measured.mean_use(measured.start, measured.start + until * 60)[0]["cpu"]


def test_without_a_reservation_small_jobs_keep_a_large_one_waiting() -> None:
    began = starts(simulate(NODES, BEFORE, LARGE, small(2)))["large"]
    assert began is not None
    assert began > 180


@pytest.mark.parametrize("conf", [EASY, CONSERVATIVE], ids=["easy", "conservative"])
def test_with_one_it_starts_as_if_nobody_had_passed_and_more_is_in_use_meanwhile(conf: str) -> None:
    alone = simulate(NODES, BEFORE, LARGE, conf=conf)
    beside = simulate(NODES, BEFORE, LARGE, small(2), conf=conf)
    assert starts(alone)["large"] == starts(beside)["large"] == 90
    assert minutes(beside.jobs["default/large"].reserved) == 90
    assert used(beside, 90) > used(alone, 90) + 0.15


def test_the_time_that_was_promised_first_is_kept() -> None:
    measured = simulate(NODES, BEFORE, LARGE, job("second", 1, 4, 40, after=2), small(3), conf=CONSERVATIVE)
    reserved = {key: minutes(story.reserved) for key, story in measured.jobs.items() if story.reserved is not None}
    assert reserved["default/large"] == 90
    assert reserved["default/second"] == 120
    assert starts(measured)["second"] == 120


def test_a_job_starts_earlier_than_promised_when_others_are_done_early() -> None:
    """A node comes that nobody knew of."""
    late_node = {**nodes(8, 3)[2]}
    late_node["metadata"] = {**late_node["metadata"], "annotations": {"scheduling.stromboli.dev/arrives-after": "10m"}}
    measured = simulate(NODES, late_node, BEFORE, LARGE, small(2), conf=EASY)
    assert (minutes(measured.jobs["default/large"].reserved), starts(measured)["large"]) == (90, 10)


def test_the_promised_nodes_are_taken_where_the_usual_choice_leads_nowhere() -> None:
    """Filling nodes would put the small pod of the head beside the guest, where the large one needs the room."""
    arguments = {"backfill": {"strategy": "easy"}}
    conf = configuration("gang", "predicates", "binpack", actions="allocate, backfill", arguments=arguments)
    world = [node("a", 7, labels={"host": "a"}), node("b", 4, labels={"host": "b"})]
    busy = [job("old-a", 1, 5, 60, **on("a")), job("old-b", 1, 4, 60, **on("b"))]
    notes = {RUN_TIME: "10m", ARRIVES_AFTER: "1m"}
    head = gang_of(pod(2, annotations=notes), pod(5, annotations=notes), name="head")
    guest = job("guest", 1, 2, 300, after=2, **on("a"))
    assert starts(simulate(world, busy, head, guest, conf=conf)) == {"old-a": 0, "old-b": 0, "head": 60, "guest": 2}


def on(host: str) -> dict[str, Any]:
    return {"nodeSelector": {"host": host}}


def test_a_more_important_job_goes_before_a_promise() -> None:
    arguments = {"backfill": {"strategy": "easy"}}
    conf = configuration("priority", "gang", "predicates", actions="allocate, backfill", arguments=arguments)
    urgent = [priority_class("high", 9), *job("urgent", 1, 4, 60, after=10, priority="high")]
    began = starts(simulate(NODES, BEFORE, LARGE, urgent, conf=conf))
    assert began == {"old-a": 0, "old-b": 0, "urgent": 60, "large": 120}


def test_with_fair_queues_the_head_waits_for_the_share_of_its_queue() -> None:
    """A queue that has its share is not passed over by its own small jobs."""
    arguments = {"backfill": {"strategy": "easy"}}
    conf = configuration("gang", "predicates", "proportion", actions="allocate, backfill", arguments=arguments)
    began = starts(simulate(NODES, BEFORE, LARGE, small(2), conf=conf))
    assert began["large"] == 90
