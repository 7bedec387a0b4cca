"""Past usage in a running scheduler: continued from the history after a kill, and counted without one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.reasons import Code
from stromboli.core.model.resources.resources import PODS as POD_DIMENSION
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.history.usage.reports import usage_of
from stromboli.kube.objects.catalogue import PODS
from stromboli.scheduler import past_usage
from tests.testing.cases.case import configuration, plugin
from tests.testing.histories import opened
from tests.testing.manifests.builders import gang, queue
from tests.testing.world import World, cpus, policy_of, running_cluster
from tests.unit.external.http_service import Exchange, disconnects, http_service, responds


class LiveUsageReader(Plugin):
    name = "live-usage-reader"
    reads_past_usage = True


READING = configuration("priority", "gang", "predicates", "nodeorder", "live-usage-reader")


def pod_seconds(world: World, now: float) -> float:
    cluster = world.scheduler.cluster
    assert cluster.past_usage is not None
    usage = cluster.past_usage.at(now, UsageDecay(), cluster.axis, len(cluster.axis))
    return float(usage.user("default", "ana")[POD_DIMENSION])


async def test_killed_scheduler_continues_with_the_usage_of_the_history(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    ana = {"stromboli.dev/user": "ana"}
    async with running_cluster(cpus(4), policy=policy_of(READING, LiveUsageReader), history=str(path)) as world:
        await world.until_true(lambda: world.scheduler.past_usage.is_loaded, "the empty history is loaded")
        await world.create(gang(2, name="stays", annotations=ana), gang(1, name="gone", notes=ana))
        await world.until_bound("", 3)
        history = world.scheduler.history
        assert history is not None
        await world.until_true(lambda: history.writer.is_idle, "everything is recorded")
        await world.kill()
        await world.delete(PODS, "gone-task-0")

        async def is_gone() -> bool:
            return await world.pod("gone-task-0") is None

        await world.until(is_gone, "the pod is gone")
        await world.start()
        await world.until_true(lambda: world.scheduler.past_usage.is_loaded, "the history is loaded")
        now = time.time()
        with opened(path) as database:
            [entry] = usage_of(database, 0.0, now, ["queue", "user"])
        assert (entry.key, entry.runs) == ({"queue": "default", "user": "ana"}, 3)
        assert pod_seconds(world, now) == pytest.approx(float(entry.pod_seconds), abs=0.01)
        assert pod_seconds(world, now + 100) == pytest.approx(float(entry.pod_seconds) + 200, abs=0.01)


async def test_budget_that_is_used_up_still_blocks_after_a_restart(tmp_path: Path) -> None:
    """The pod that used the budget is gone when the scheduler starts: only the history has it."""
    path = str(tmp_path / "history.db")
    budgets = '[{"resource": "cpu", "hours": 0.000000001}]'
    policy = policy_of(configuration(["budget"], ["priority", "gang", "predicates"]))
    async with running_cluster(cpus(4), policy=policy, history=path) as world:
        await world.until_true(lambda: world.scheduler.past_usage.is_loaded, "the empty history is loaded")
        await world.create(queue("research", annotations={"stromboli.dev/budgets": budgets}))
        await world.create(gang(1, name="used", queue="research"))
        await world.until_bound("used", 1)
        await world.stop()
        await world.delete(PODS, "used-task-0")
        await world.create(gang(1, name="later", queue="research"))
        codes = set[Code | None]()
        await world.start()
        world.scheduler.observers.append(
            lambda result: codes.update(status.cause for status in result.session.statuses.values())
        )
        await world.until_true(lambda: Code.BUDGET_EXHAUSTED in codes, "the history is loaded")
        assert await world.bound("later") == []


async def test_restart_within_a_period_does_not_repeat_the_event_of_a_threshold(tmp_path: Path) -> None:
    """The second queue reaches its threshold after the restart: its event follows all of those before it."""
    path = str(tmp_path / "history.db")
    budgets = {"stromboli.dev/budgets": '[{"resource": "cpu", "hours": 0, "warnAt": [80]}]'}
    policy = policy_of(configuration(["budget"], ["priority", "gang", "predicates"]))
    async with running_cluster(cpus(4), policy=policy, history=path) as world:

        async def announced(name: str) -> int:
            return sum((each.count or 1) for each in await world.events(name, "BudgetThreshold"))

        for name in ("research", "later"):
            await world.create(queue(name, annotations=budgets))

            async def is_announced(name: str = name) -> bool:
                return bool(await announced(name))

            await world.until(is_announced, f"queue {name} has an event")
            assert await announced("research") == 1
            await world.stop()
            await world.start()


async def test_jobs_with_a_budget_start_although_the_history_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_usage, "_MAX_WAIT", 0.5)
    budgets = '[{"resource": "cpu", "hours": 1}]'
    policy = policy_of(configuration(["budget"], ["priority", "gang", "predicates"]))
    async with running_cluster(cpus(4), policy=policy, history=str(tmp_path)) as world:
        await world.create(queue("research", annotations={"stromboli.dev/budgets": budgets}))
        await world.create(gang(1, name="job", queue="research"))
        await world.until_bound("job", 1)
        assert not world.scheduler.past_usage.is_loaded


async def test_pods_count_without_a_history() -> None:
    ana = {"stromboli.dev/user": "ana"}
    async with running_cluster(cpus(4), policy=policy_of(READING, LiveUsageReader)) as world:
        await world.create(gang(2, name="job", annotations=ana))
        await world.until_bound("job", 2)
        await world.until_true(lambda: pod_seconds(world, time.time() + 50) > 100, "both pods count")
        assert not world.scheduler.past_usage.is_loaded


async def test_nothing_is_accounted_while_no_plugin_reads_it(tmp_path: Path) -> None:
    async with running_cluster(cpus(4), history=str(tmp_path / "history.db")) as world:
        await world.create(gang(2, name="job"))
        await world.until_bound("job", 2)
        assert world.scheduler.cluster.past_usage is None


async def test_queue_gets_an_event_when_its_budget_is_used_up_and_jobs_wait_with_the_reason() -> None:
    budgets = '[{"resource": "cpu", "hours": 0, "warnAt": [80]}]'
    policy = policy_of(configuration(["budget"], ["priority", "gang", "predicates"]))
    async with running_cluster(cpus(4), policy=policy) as world:
        await world.create(queue("research", annotations={"stromboli.dev/budgets": budgets}))
        await world.create(gang(1, name="job", queue="research"))

        async def is_announced() -> bool:
            return bool(await world.events("research", "BudgetThreshold"))

        await world.until(is_announced, "the queue has an event")
        [event] = await world.events("research", "BudgetThreshold")
        assert event.message == "80 % of a budget are used: 0.0 of 0.0 hours of cpu are used this month"

        async def waits() -> bool:
            return any("the budget is used up" in (each.message or "") for each in await world.events("job-task-0"))

        await world.until(waits, "the pod has the reason")


async def test_usage_of_prometheus_decides_and_the_last_answer_counts_while_it_fails() -> None:
    """Queue red has used everything, which no history has."""
    fair = configuration(
        "gang",
        plugin("fairshare", {"halfLife": "0s", "k": 20}),
        "proportion",
        "predicates",
        actions="enqueue, allocate",
    )

    def answer(exchange: Exchange) -> None:
        end = float(exchange.http_service.received[-1].query["end"])
        samples = [[end - 600 + 15 * number, "4"] for number in range(20)]
        series = [{"metric": {"queue": "red"}, "values": samples}]
        responds({"status": "success", "data": {"resultType": "matrix", "result": series}})(exchange)

    with http_service() as service:
        service.handlers["/api/v1/query_range"] = answer
        source = (
            f"metrics: {{address: '{service.address}', interval: 100ms, pastUsagePeriod: 1h, pastUsage: {{cpu: held}}}}"
        )
        async with running_cluster(policy=policy_of(f"{fair}{source}\n")) as world:
            await world.until_true(lambda: world.scheduler.past_usage.is_loaded, "Prometheus has answered")
            service.handlers["/api/v1/query_range"] = disconnects
            asked = len(service.asked("query_range"))
            await world.until_true(lambda: len(service.asked("query_range")) > asked + 1, "it fails")
            await world.create(queue("red"), queue("blue"))
            for name in ("red", "blue"):
                await world.create(gang(1, 4, name=f"job-{name}", queue=name))
                await world.until_condition(f"job-{name}", "no nodes")
            await world.add_nodes(cpus(1))
            [bound] = await world.until_bound("job-", 1)
            assert bound.metadata.name == "job-blue-task-0"
