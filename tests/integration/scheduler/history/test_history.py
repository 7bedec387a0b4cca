"""The history of a running scheduler: starts, evictions, failures, and a scheduler that was killed."""

from __future__ import annotations

import time
from pathlib import Path

from stromboli.history.databases.database import HistoryError
from stromboli.history.events import events_of
from stromboli.history.query import HistoryFilter, JobHistory, pods_of, query
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.workloads.groups import SUSPENDED
from tests.testing.cases.case import configuration
from tests.testing.histories import opened
from tests.testing.manifests.builders import gang, priority_class
from tests.testing.world import World, cpus, policy_of, running_cluster

PREEMPTION = configuration("priority", "gang", "predicates", "nodeorder", actions="allocate, preempt")


def jobs_in(path: Path) -> dict[str, JobHistory]:
    try:
        with opened(path) as database:
            return {job.name: job for job in query(database, HistoryFilter()).jobs}
    except HistoryError:
        return {}


async def until_recorded(world: World, path: Path, **states: str) -> dict[str, JobHistory]:
    """Wait until the history has these states of jobs."""

    def is_recorded() -> bool:
        found = jobs_in(path)
        return all(name in found and found[name].state == state for name, state in states.items())

    await world.until_true(is_recorded, f"the history has {states}")
    return jobs_in(path)


async def test_evicted_gang_and_its_preemptor_are_recorded_with_reason(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with running_cluster(cpus(1, 4), policy=policy_of(PREEMPTION), history=str(path)) as world:
        await world.create(priority_class("high", 100), gang(4, 1, name="low", minimum=1))
        await world.until_bound("low", 4)
        await until_recorded(world, path, low="Running")
        await world.create(gang(2, 1, name="urgent", priority="high", priorityClassName="high"))
        await world.until_bound("urgent", 2)
        found = await until_recorded(world, path, low="Running", urgent="Running")
    low, urgent = found["low"], found["urgent"]
    assert (low.evictions, low.starts, low.failures, low.running) == (2, 4, 0, 2)
    assert (urgent.pods, urgent.min_member, urgent.priority_class) == (2, 2, "high")
    assert urgent.requests["cpu"] == 2.0
    with opened(path) as database:
        events = [(event.what, len(event.pods), event.details) for event in events_of(low, pods_of(database, low.uid))]
    assert {what for what, _, _ in events} == {"submitted", "started", "evicted"}
    assert {details for what, _, details in events if what == "evicted"} == {"preempt, in favour of default/urgent"}


async def test_killed_scheduler_leaves_a_history_that_the_next_one_completes(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with running_cluster(cpus(4), history=str(path)) as world:
        await world.create(gang(2, name="stays"), gang(1, name="gone"))
        await world.until_bound("", 3)
        await until_recorded(world, path, stays="Running", gone="Running")
        await world.kill()
        await world.delete(PODS, "gone-task-0")

        async def is_gone() -> bool:
            return await world.pod("gone-task-0") is None

        await world.until(is_gone, "the pod is gone")
        await world.set_status("stays-task-0", {"phase": "Succeeded"})
        before = time.time()
        await world.start()
        found = await until_recorded(world, path, stays="Running", gone="Unknown")
    assert (found["stays"].pods, found["stays"].starts, found["stays"].running) == (2, 2, 1)
    assert found["gone"].starts == 1
    assert (found["gone"].ended or 0.0) >= before


async def test_database_that_cannot_be_written_is_reported_and_does_not_stop_scheduling(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("This is no database. " * 100)
    async with running_cluster(cpus(2), history=str(path)) as world:
        await world.create(gang(2, name="job"))
        await world.until_bound("job", 2)
        history = world.scheduler.history
        assert history is not None
        await world.until_true(lambda: "file is not a database" in history.writer.problem, "the problem is reported")
        assert history.writer.waiting
        metrics = world.scheduler.metrics.render()[0].decode()
        assert "stromboli_history_up 0.0" in metrics


async def test_group_of_a_suspended_volcano_job_is_recorded_as_suspended(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with running_cluster(cpus(2), history=str(path)) as world:
        await world.create(gang(1, name="stopped"), gang(1, name="deleted"))
        await until_recorded(world, path, stopped="Running", deleted="Running")
        mark = {"metadata": {"annotations": {SUSPENDED: "true"}}}
        await world.client.patch(POD_GROUPS, "stopped", mark, namespace="default")
        for name in ("stopped", "deleted"):
            await world.delete(POD_GROUPS, name)
            await world.delete(PODS, f"{name}-task-0")
        await until_recorded(world, path, stopped="Suspended", deleted="Cancelled")
