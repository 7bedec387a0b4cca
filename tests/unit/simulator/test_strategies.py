"""Strategies of backfill in time: a gang starts at its reserved time, and gaps are filled."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.kube.objects.timestamps import ARRIVES_AFTER, RUN_TIME
from stromboli.simulator.measurements import SimulationMeasurements
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import gang_of, node, nodes, pod, priority_class
from tests.testing.simulations import job, minutes, simulate, starts, strategy

EASY, CONSERVATIVE = strategy("easy"), strategy("conservative")

#: Two nodes, almost full for a long time, and a gang that needs both completely.
NODES = nodes(4, 2)
BEFORE = [job("old-a", 1, 3, 60), job("old-b", 1, 3, 90)]
LARGE = job("large", 2, 4, 30, after=1)


def small(after: int) -> list[Any]:
    """Small jobs that keep arriving for three hours."""
    return [job(f"small-{n:02}", 1, 1, 25, after=after + 5 * n) for n in range(36)]


def used(measured: SimulationMeasurements, until: int) -> float:
    return measured.mean_use(measured.start, measured.start + until * 60)[0]["cpu"]


def test_gang_without_reservation_is_delayed_by_small_jobs() -> None:
    began = starts(simulate(NODES, BEFORE, LARGE, small(2)))["large"]
    assert began is not None
    assert began > 180


@pytest.mark.parametrize("conf", [EASY, CONSERVATIVE], ids=["easy", "conservative"])
def test_gang_with_reservation_is_not_delayed_and_usage_is_higher(conf: str) -> None:
    alone = simulate(NODES, BEFORE, LARGE, conf=conf)
    beside = simulate(NODES, BEFORE, LARGE, small(2), conf=conf)
    assert starts(alone)["large"] == starts(beside)["large"] == 90
    assert minutes(beside.jobs["default/large"].reserved) == 90
    assert used(beside, 90) > used(alone, 90) + 0.15


def test_conservative_keeps_the_first_reserved_time() -> None:
    measured = simulate(NODES, BEFORE, LARGE, job("second", 1, 4, 40, after=2), small(3), conf=CONSERVATIVE)
    reserved = {key: minutes(record.reserved) for key, record in measured.jobs.items() if record.reserved is not None}
    assert reserved["default/large"] == 90
    assert reserved["default/second"] == 120
    assert starts(measured)["second"] == 120


def test_job_starts_before_its_reserved_time_when_capacity_is_free() -> None:
    """A new node arrives."""
    late_node = {**nodes(8, 3)[2]}
    late_node["metadata"] = {**late_node["metadata"], "annotations": {"scheduling.stromboli.dev/arrives-after": "10m"}}
    measured = simulate(NODES, late_node, BEFORE, LARGE, small(2), conf=EASY)
    assert (minutes(measured.jobs["default/large"].reserved), starts(measured)["large"]) == (90, 10)


def test_reserved_nodes_are_used_when_scores_lead_to_a_dead_end() -> None:
    """Bin packing would place the small pod of the head next to the guest, on the node that the large pod needs."""
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


def test_higher_priority_job_precedes_a_reservation() -> None:
    arguments = {"backfill": {"strategy": "easy"}}
    conf = configuration("priority", "gang", "predicates", actions="allocate, backfill", arguments=arguments)
    urgent = [priority_class("high", 9), *job("urgent", 1, 4, 60, after=10, priority="high")]
    began = starts(simulate(NODES, BEFORE, LARGE, urgent, conf=conf))
    assert began == {"old-a": 0, "old-b": 0, "urgent": 60, "large": 120}


def test_gang_in_full_queue_keeps_its_reservation() -> None:
    """The head of a queue with its full share is not overtaken by small jobs of the queue."""
    arguments = {"backfill": {"strategy": "easy"}}
    conf = configuration("gang", "predicates", "proportion", actions="allocate, backfill", arguments=arguments)
    began = starts(simulate(NODES, BEFORE, LARGE, small(2), conf=conf))
    assert began["large"] == 90
