"""Gangs from the first pod to the last, as people and their tools see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.kube.objects.catalogue import CONFIG_MAPS, POD_GROUPS, PODS
from stromboli.kube.objects.timestamps import RUN_SECONDS
from stromboli.local.fakes.kubelet.pod_lifecycle import EXIT_CODE
from tests.testing.cases.case import STANDARD, configuration
from tests.testing.invariants import check
from tests.testing.manifests.builders import Manifest, amounts, gang, gang_of, group, pod, priority_class, queue
from tests.testing.world import World, cpus, policy_of, running_cluster, unschedulable


async def test_gang_starts_completely_or_not_at_all_and_kubectl_shows_why(tmp_path: Path) -> None:
    async with running_cluster(cpus(4), home=tmp_path) as world:
        await world.create(gang(4, 3, name="whole"))
        await world.until_bound("whole", 4)
        await world.create(gang(2, 3, name="late"))
        await world.until_condition("late", "0/4 nodes are available: 4 Insufficient cpu.")
        described = await world.kubectl("describe", "podgroup", "late")
        assert "Unschedulable" in described
        assert "0/4 nodes are available: 4 Insufficient cpu." in described
        assert "4 Insufficient cpu" in await world.kubectl("describe", "pod", "late-task-1")
        assert await world.bound("late") == []
        await world.kubectl("delete", "pod", "whole-task-0", "whole-task-1", "--wait=false")
        await world.until_bound("late", 2)
        await world.until_phase("late", "Running")
        assert "Running" in await world.kubectl("get", "podgroup", "late")
        await check(world, torn=["whole"])


NEVER = [
    pytest.param(
        gang(1, 9, name="job"), "ExceedsEveryNode", "a pod requests cpu 9, but the largest node has cpu 4",
        id="larger than every node",
    ),
    pytest.param(
        gang(3, 3, name="job"), "ExceedsCluster",
        "the 3 pods that must start together request cpu 9, but the cluster has cpu 8", id="larger than the cluster",
    ),
    pytest.param(
        gang(1, name="job", queue="reserch"), "QueueUnknown", "queue 'reserch' does not exist; did you mean research?",
        id="in a missing queue",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "reason", "text"), NEVER)
async def test_job_that_can_never_start_reports_it_in_condition_and_event(
    job: list[Manifest], reason: str, text: str
) -> None:
    async with running_cluster(cpus(2)) as world:
        await world.create(queue("research"))
        await world.create(job)
        await world.until_condition("job", text)
        found = await world.group("job")
        assert found is not None
        assert [each.reason for each in found.status.conditions or () if each.type == "Unschedulable"] == [reason]
        await world.until_event("job", text, "Unschedulable")
        await world.until_event("job-task-0", text, "FailedScheduling")


async def test_the_conditions_of_a_group_contradict_each_other_never() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(1, 3, name="first"))
        await world.until_bound("first", 1)
        await world.create(gang(1, 3, name="second"))
        await world.until_condition("second", "Insufficient cpu")
        await world.delete(PODS, "first-task-0")
        await world.until_bound("second", 1)
        await world.until_phase("second", "Running")
        second = await world.group("second")
        assert second is not None
        assert {c.type: c.status for c in second.status.conditions or ()} == {
            "Unschedulable": "False",
            "Scheduled": "True",
        }
        await check(world)


async def test_a_finished_job_is_completed_and_counted() -> None:
    short, broken = {RUN_SECONDS: "0.05"}, {RUN_SECONDS: "0.05", EXIT_CODE: "3"}
    async with running_cluster(cpus(1)) as world:
        await world.create(gang_of(pod(annotations=short), pod(annotations=short), pod(annotations=broken), name="job"))
        done = await world.until_phase("job", "Completed")
        assert (done.status.running or 0, done.status.succeeded, done.status.failed) == (0, 2, 1)
        await check(world)


@pytest.mark.parametrize("exit_code", ["0", "3"])
async def test_finished_gang_that_waited_before_has_no_true_unschedulable_condition(exit_code: str) -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(1, 3, name="first"))
        await world.until_bound("first", 1)
        await world.create(gang(2, 2, annotations={RUN_SECONDS: "0.05", EXIT_CODE: exit_code}, name="second"))
        await world.until_condition("second", "Insufficient cpu")
        await world.delete(PODS, "first-task-0")
        done = await world.until_phase("second", "Completed")
        conditions = {c.type: c.status for c in done.status.conditions or ()}
        # Statuses yield to bindings, so such a short gang may end before one that reports it as scheduled is written.
        assert (conditions.pop("Unschedulable"), conditions.pop("Scheduled", "True")) == ("False", "True")
        assert not conditions
        for number in range(2):
            pod = await world.pod(f"second-task-{number}")
            assert pod is not None
            assert {c.type: c.status for c in pod.status.conditions or ()}["PodScheduled"] == "True"
        await check(world)


async def test_running_gang_that_lost_a_pod_reports_how_many_exist() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(2, 1, name="job"))
        await world.until_phase("job", "Running")
        await world.delete(PODS, "job-task-0")
        text = "Not enough valid tasks for gang-scheduling, valid: 1, min: 2"
        await world.until_condition("job", text)
        await world.until_event("job", text, "Unschedulable")
        lost = await world.until_phase("job", "Unknown")
        assert {c.type: c.reason for c in lost.status.conditions or ()}["Unschedulable"] == "NotEnoughTasks"


async def test_completed_gang_stays_completed_without_its_pods_and_restarts_with_new_ones() -> None:
    members = gang(2, 1, annotations={RUN_SECONDS: "0.05"}, name="job")
    async with running_cluster(cpus(1)) as world:
        await world.create(members)
        done = await world.until_phase("job", "Completed")
        for number in range(2):
            await world.delete(PODS, f"job-task-{number}")
        await world.create(gang(1, 1, name="later"))
        await world.until_phase("later", "Running")
        await world.cycles(3)
        after = await world.group("job")
        assert after is not None
        assert (after.status.phase, after.status.succeeded) == ("Completed", 2)
        assert after.status.conditions == done.status.conditions
        assert [event for event in await world.events("job") if event.type == "Warning"] == []
        await world.create(gang(2, 1, name="job")[1:])

        async def counts() -> bool:
            again = await world.until_phase("job", "Running")
            return (again.status.running, again.status.succeeded or 0) == (2, 0)

        await world.until(counts, "two running pods are counted, and none that succeeded")
        await check(world)


async def test_plain_pods_get_groups_named_after_their_owners() -> None:
    async with running_cluster(cpus(1)) as world:
        owner = await world.client.create(CONFIG_MAPS, {"metadata": {"name": "owner"}})
        uid = owner.metadata.uid
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
        children = [pod(name=f"child-{place}") for place in range(2)]
        for child in children:
            child["metadata"]["ownerReferences"] = [reference]
        await world.create(pod(name="single"), children)
        await world.until_bound("", 3)
        single = await world.pod("single")
        assert single is not None
        assert await world.group(f"podgroup-{single.metadata.uid}")
        assert await world.group(f"podgroup-{uid}")
        await check(world)
        await world.delete(CONFIG_MAPS, "owner")


async def test_a_group_without_pods_is_let_in_so_that_operators_create_them() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(group("early", 2, resources=amounts(cpu=2)))
        await world.until_phase("early", "Inqueue")
        await world.create(gang(2, 1, name="early")[1:])
        await world.until_bound("early", 2)
        await check(world)


async def test_a_group_that_asks_for_more_than_there_is_stays_pending() -> None:
    async with running_cluster(cpus(1), policy=policy_of(STANDARD)) as world:
        await world.create(group("huge", 2, resources=amounts(cpu=200)), gang(1, name="small"))
        await world.until_bound("small", 1)
        await world.until_phase("huge", "Pending")
        await check(world)


async def test_pods_wait_for_their_group_and_start_when_it_comes() -> None:
    head, *members = gang(2, 1, name="orphans")
    async with running_cluster(cpus(1)) as world:
        await world.create(members, gang(1, name="other"))
        await world.until_bound("other", 1)
        await world.cycles()
        assert await world.bound("orphans") == []
        await world.create(head)
        await world.until_bound("orphans", 2)
        await check(world)


async def test_a_minimum_may_change_at_any_time() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(4, 2, name="gang"))
        await world.until_condition("gang", "Insufficient cpu")
        await minimum(world, "gang", 2)
        await world.until_bound("gang", 2)
        await minimum(world, "gang", 4)
        await world.until_phase("gang", "Unknown")
        assert len(await world.bound("gang")) == 2, "what runs is not touched"
        await minimum(world, "gang", 0)
        await world.until_phase("gang", "Running")
        await check(world)


async def minimum(world: World, name: str, number: int) -> None:
    await world.patch(POD_GROUPS, name, {"spec": {"minMember": number}})


async def test_a_group_without_a_minimum_starts_pod_by_pod() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(3, 2, name="loose", minimum=0))
        await world.until_bound("loose", 2)
        await world.until_phase("loose", "Running")
        await check(world)


async def test_scheduling_gates_hold_a_pod_until_they_are_gone() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(1, 1, name="gated", gated=True), gang(1, 1, name="free"))
        await world.until_bound("free", 1)
        await world.cycles()
        assert await world.bound("gated") == []
        await world.patch(PODS, "gated-task-0", {"spec": {"schedulingGates": []}})
        await world.until_bound("gated", 1)
        await check(world)


async def test_a_queue_that_is_not_there_yet_keeps_its_jobs_waiting() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(1, name="early", queue="research"), gang(1, name="other"))
        await world.until_bound("other", 1)
        assert "research" in await world.until_condition("early", "research")
        await world.create(queue("research"))
        await world.until_bound("early", 1)
        await check(world)


async def test_a_priority_class_counts_from_the_moment_it_appears() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(1, 4, name="first"))
        await world.until_bound("first", 1)
        await world.create(gang(1, 4, name="calm"), gang(1, 4, name="urgent", priority="urgent"))
        await world.until_condition("urgent", "Insufficient cpu")
        await world.create(priority_class("urgent", 1000))
        await world.cycles()
        await world.delete(PODS, "first-task-0")
        await world.until_bound("urgent", 1)
        assert await world.bound("calm") == []
        await check(world)


async def test_pending_jobs_cause_few_events() -> None:
    async with running_cluster(cpus(1), status_refresh=0.02) as world:
        await world.create(gang(2, 4, name="large"))
        await world.until_condition("large", "Insufficient cpu")
        for _ in range(8):
            world.scheduler.trigger.has_changes = True
            await world.cycles(1)
        events = [event for event in await world.events("large") if "Insufficient" in (event.message or "")]
        assert len(events) == 1
        assert unschedulable(await world.group("large"))
        await check(world)


async def test_capacity_being_released_is_nominated_for_one_pod() -> None:
    head, member = gang(1, 4, name="leaving")
    member["metadata"]["finalizers"] = ["example.com/wait"]
    async with running_cluster(cpus(1)) as world:
        await world.create(head, member)
        await world.until_bound("leaving", 1)
        await world.create(gang(1, 4, name="next"))
        await world.until_condition("next", "Insufficient cpu")
        await world.delete(PODS, "leaving-task-0")

        async def nominated() -> str:
            waiting = await world.pod("next-task-0")
            return (waiting and waiting.status.nominated_node_name) or ""

        assert await world.until(nominated, "a node is named") == "node-00"
        await world.patch(PODS, "leaving-task-0", {"metadata": {"finalizers": None}})
        await world.until_bound("next", 1)
        await check(world)


async def test_many_pods_of_one_class_fill_the_nodes_and_no_more() -> None:
    async with running_cluster(cpus(3)) as world:
        await world.create(gang(15, 1, name="many", minimum=1))
        await world.until_bound("many", 12)
        await check(world)


STALE_AFTER_A_SECOND = configuration(
    "priority", "gang", "predicates", "nodeorder",
    actions="enqueue, stalegang, allocate", arguments={"stalegang": {"gracePeriod": "1s"}},
)  # fmt: skip


async def test_a_gang_that_lost_a_member_for_good_is_released() -> None:
    async with running_cluster(cpus(1), policy=policy_of(STALE_AFTER_A_SECOND)) as world:
        await world.create(gang(2, name="torn"), gang(2, name="whole"))
        await world.until_bound("torn", 2)
        await world.until_bound("whole", 2)
        await world.delete(PODS, "torn-task-1")

        async def released() -> bool:
            return await world.pods("torn") == []

        await world.until(released, "the other member goes")
        await until_condition(world, "torn", "Evicted", "True", "stalegang")
        await until_condition(world, "torn", "Stale", "False", "NotStale")
        assert len(await world.bound("whole")) == 2
        await check(world, torn=["torn"])


async def test_a_gang_that_gets_its_member_back_is_whole_again() -> None:
    patient = STALE_AFTER_A_SECOND.replace("1s", "10m")
    async with running_cluster(cpus(1), policy=policy_of(patient)) as world:
        head, *members = gang(2, name="torn")
        await world.create(head, members)
        await world.until_bound("torn", 2)
        await world.delete(PODS, "torn-task-1")
        await until_condition(world, "torn", "Stale", "True", "BelowMinimum")
        await world.create(members[1])
        await world.until_bound("torn", 2)
        await until_condition(world, "torn", "Stale", "False", "NotStale")
        await check(world)


CONSOLIDATING = configuration(
    "priority", "gang", "conformance", "predicates", "nodeorder", actions="enqueue, allocate, consolidate"
)


async def test_a_pod_moves_so_that_a_large_one_fits_and_both_run() -> None:
    async with running_cluster(cpus(2), policy=policy_of(CONSOLIDATING)) as world:
        small = {f"small-{name}-task-0": gang(1, 2, name=f"small-{name}") for name in "ab"}
        await world.create(small["small-a-task-0"], small["small-b-task-0"])
        before = {pod.spec.node_name for pod in await world.until_bound("small", 2)}
        assert len(before) == 2, "they are spread"
        await world.create(gang(1, 4, name="large"))

        async def moved() -> list[str]:
            left = {pod.metadata.name for pod in await world.pods("small")}
            return [name for name in small if name not in left]

        [name] = await world.until(moved, "one of them is evicted")
        moving = name.removesuffix("-task-0")
        await until_condition(world, moving, "Evicted", "True", "consolidate")
        await world.until(lambda: awaits_pods(world, moving), "it waits for its pod")
        _, again = small[name]
        await world.create(again)
        await world.until_bound("small", 2)
        await world.until_bound("large", 1)
        await until_condition(world, moving, "Evicted", "False", "consolidate")
        await check(world)


async def awaits_pods(world: World, name: str) -> bool:
    found = await world.group(name)
    conditions = found.status.conditions if found is not None else None
    true = {each.type for each in conditions or () if each.status == "True"}
    return found is not None and found.status.phase == "Inqueue" and not true & {"Scheduled", "Unschedulable"}


async def until_condition(world: World, name: str, kind: str, status: str, reason: str) -> None:
    async def said() -> bool:
        found = await world.group(name)
        conditions = found.status.conditions if found is not None else None
        return (kind, status, reason) in [(each.type, each.status, each.reason) for each in conditions or ()]

    await world.until(said, f"condition of {name}: {kind}={status}, {reason}")
