"""A JobFlow from its creation to its end, with the controller of Jobs, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stromboli.controllers.names import JOB, JOB_FLOW, JOB_TEMPLATE
from stromboli.controllers.owned_jobs import controller_of
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import JOB_FLOWS, JOB_TEMPLATES, VOLCANO_JOBS
from stromboli.kube.objects.volcano_jobs import JobFlow, VolcanoJob
from tests.testing.job_world import NAMESPACE, JobWorld, crash_points, task
from tests.testing.virtual_time import run_virtually


def step(name: str, *targets: str, probe: Any = None, patch: Any = None) -> dict[str, Any]:
    depends = {"targets": list(targets), **({"probe": probe} if probe else {})} if targets else None
    fields = {"dependsOn": depends, "patch": {"jobSpec": patch} if patch else None}
    return {"name": name, **{key: value for key, value in fields.items() if value}}


async def create_template(world: JobWorld, name: str, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"tasks": [task("worker")], **spec}}
    await world.client.create(JOB_TEMPLATES, body, namespace=NAMESPACE)


async def create_flow(world: JobWorld, *steps: dict[str, Any], **spec: Any) -> None:
    """Create the flow `etl` with these steps, and a template for each."""
    for each in steps:
        await create_template(world, each["name"])
    body = {"metadata": {"name": "etl"}, "spec": {"flows": steps, **spec}}
    await world.client.create(JOB_FLOWS, body, namespace=NAMESPACE)


async def found_flow(world: JobWorld) -> JobFlow:
    return await world.client.get(JOB_FLOWS, "etl", namespace=NAMESPACE)


async def until_flow(world: JobWorld, phase: str) -> JobFlow:
    async def reached() -> JobFlow | None:
        flow = await found_flow(world)
        return flow if flow.status.state.phase == phase else None

    try:
        flow: JobFlow = await world.until(reached)
    except TimeoutError:
        raise AssertionError(f"{(await found_flow(world)).status} is not {phase}: {await world.events()}") from None
    return flow


async def jobs(world: JobWorld) -> list[str]:
    return sorted(job.metadata.name for job in (await world.client.list(VOLCANO_JOBS)).items)


async def until_job(world: JobWorld, name: str, phase: str) -> VolcanoJob:
    await world.until_created(name)
    return await world.until_phase(phase, name)


async def end(world: JobWorld, job: str, phase: str = "Succeeded") -> None:
    await until_job(world, job, "Running")
    await world.phase(f"{job}-worker-0", phase, 0 if phase == "Succeeded" else 1)


# -- the cases ----------------------------------------------------------------------------------------------------


async def creates_jobs_in_the_order_of_their_dependencies(world: JobWorld) -> None:
    await create_flow(world, step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"))
    await until_job(world, "etl-a", "Running")
    assert await jobs(world) == ["etl-a"]
    assert (await until_flow(world, "Running")).status.running_jobs == ["etl-a"]
    await end(world, "etl-a")
    await end(world, "etl-b")
    await until_job(world, "etl-c", "Running")
    await asyncio.sleep(2)
    assert await jobs(world) == ["etl-a", "etl-b", "etl-c"]
    await end(world, "etl-c")
    await end(world, "etl-d")
    status = (await until_flow(world, "Succeed")).status
    assert status.completed_jobs == ["etl-a", "etl-b", "etl-c", "etl-d"]
    assert (status.running_jobs, status.pending_jobs, status.un_know_jobs) == (None, None, None)
    first = (status.job_status_list or [])[0]
    assert [each.state for each in first.running_histories or ()] == ["Pending", "Running", "Completed"]
    assert (first.start_timestamp, first.end_timestamp) != (None, None)
    assert (status.conditions or {})["etl-d"].running_duration
    templates = (await world.client.list(JOB_TEMPLATES)).items
    assert [each.status.job_depends_on_list for each in templates] == [[f"etl-{name}"] for name in "abcd"]


async def makes_the_job_of_template_and_patch(world: JobWorld) -> None:
    await create_flow(
        world, step("a", patch={"queue": "night", "minAvailable": 2, "tasks": [{"name": "worker", "replicas": 3}]})
    )
    await until_job(world, "etl-a", "Pending")
    job = await world.found("etl-a")
    assert (job.spec["queue"], job.spec["minAvailable"], job.spec["tasks"][0]["replicas"]) == ("night", 2, 3)
    origin = {"volcano.sh/createdByJobTemplate": "default.a", "volcano.sh/createdByJobFlow": "default.etl"}
    assert (job.metadata.labels, job.metadata.annotations) == (origin, origin)
    owner = controller_of(job)
    assert owner is not None
    assert (owner.kind, owner.name, owner.controller) == ("JobFlow", "etl", True)


async def fails_with_a_job_and_creates_no_further_ones(world: JobWorld) -> None:
    await create_flow(world, step("a"), step("b"), step("c", "b"))
    await end(world, "etl-a", "Failed")
    assert (await until_flow(world, "Failed")).status.failed_jobs == ["etl-a"]
    await end(world, "etl-b")
    await asyncio.sleep(5)
    assert await jobs(world) == ["etl-a", "etl-b"]


async def fails_with_a_terminated_job(world: JobWorld) -> None:
    await create_flow(world, step("a"), step("b", "a"))
    await until_job(world, "etl-a", "Running")
    await world.command("TerminateJob", "etl-a")
    assert (await until_flow(world, "Failed")).status.terminated_jobs == ["etl-a"]


async def continues_after_a_job_was_aborted_and_resumed(world: JobWorld) -> None:
    await create_flow(world, step("a"), step("b", "a"))
    await until_job(world, "etl-a", "Running")
    await world.command("AbortJob", "etl-a")
    await until_job(world, "etl-a", "Aborted")
    assert (await found_flow(world)).status.state.phase == "Running"
    await world.command("ResumeJob", "etl-a")
    await end(world, "etl-a")
    await end(world, "etl-b")
    await until_flow(world, "Succeed")


async def deletes_its_jobs_after_success(world: JobWorld) -> None:
    await create_flow(world, step("a"), step("b", "a"), jobRetainPolicy="delete")
    await end(world, "etl-a")
    await end(world, "etl-b")
    await until_flow(world, "Succeed")
    await asyncio.sleep(3)
    assert await jobs(world) == []
    assert (await found_flow(world)).status.completed_jobs == ["etl-a", "etl-b"]


async def keeps_the_outcome_of_a_job_with_a_time_to_live(world: JobWorld) -> None:
    await create_template(world, "a", ttlSecondsAfterFinished=0)
    await create_template(world, "b")
    flows = [step("a"), step("b", "a")]
    await world.client.create(JOB_FLOWS, {"metadata": {"name": "etl"}, "spec": {"flows": flows}}, namespace=NAMESPACE)
    await end(world, "etl-a")
    await end(world, "etl-b")
    assert (await until_flow(world, "Succeed")).status.completed_jobs == ["etl-a", "etl-b"]
    assert await jobs(world) == ["etl-b"]


async def creates_a_job_again_that_was_deleted_before_its_end(world: JobWorld) -> None:
    await create_flow(world, step("a"))
    first = await until_job(world, "etl-a", "Running")
    await world.client.delete(VOLCANO_JOBS, "etl-a", namespace=NAMESPACE)

    async def again() -> bool:
        try:
            return (await world.found("etl-a")).metadata.uid != first.metadata.uid
        except ApiError:
            return False

    await world.until(again)
    await end(world, "etl-a")
    await until_flow(world, "Succeed")


async def is_deleted_with_its_jobs(world: JobWorld) -> None:
    await create_flow(world, step("a"), step("b", "a"))
    await until_job(world, "etl-a", "Running")
    await world.client.delete(JOB_FLOWS, "etl", namespace=NAMESPACE, propagation="Foreground")
    await asyncio.sleep(5)
    assert (await jobs(world), await world.pods()) == ([], [])


async def waits_for_a_missing_template(world: JobWorld) -> None:
    flows = [step("a"), step("b", "a")]
    await world.client.create(JOB_FLOWS, {"metadata": {"name": "etl"}, "spec": {"flows": flows}}, namespace=NAMESPACE)
    await until_flow(world, "Pending")
    await asyncio.sleep(3)
    assert await world.events("MissingJobTemplate") == [
        "JobTemplate a does not exist; create it, and Job etl-a follows"
    ]
    await create_template(world, "a")
    await until_job(world, "etl-a", "Running")


async def leaves_a_job_of_another_owner(world: JobWorld) -> None:
    await world.job("etl-a")
    await create_flow(world, step("a"))
    await asyncio.sleep(5)
    note = "Job etl-a exists and belongs to another object; delete one of them"
    assert note in await world.events("FailedCreate")
    assert (await found_flow(world)).status.state.phase == "Pending"
    await world.client.delete(VOLCANO_JOBS, "etl-a", namespace=NAMESPACE)
    await until_job(world, "etl-a", "Running")
    assert (await world.found("etl-a")).metadata.owner_references


async def reports_a_cycle_and_affects_no_other(world: JobWorld) -> None:
    cycle = {"flows": [step("x", "y"), step("y", "x")]}
    await world.client.create(JOB_FLOWS, {"metadata": {"name": "cycle"}, "spec": cycle}, namespace=NAMESPACE)
    await create_flow(world, step("a"))
    await end(world, "etl-a")
    await until_flow(world, "Succeed")
    (note,) = await world.events("InvalidJobFlow")
    assert note.startswith("JobFlow default/cycle: spec.flows: jobflow Flow is not DAG")
    broken = await world.client.get(JOB_FLOWS, "cycle", namespace=NAMESPACE)
    assert broken.status.state.phase == "Failed"


async def starts_the_next_job_when_pods_have_a_phase(world: JobWorld) -> None:
    probe = {"taskStatusList": [{"taskName": "worker", "phase": "Running"}]}
    world.runs = False
    await create_flow(world, step("server"), step("client", "server", probe=probe))
    await world.until_pods("etl-server-worker-0")
    assert await jobs(world) == ["etl-server"]
    await world.phase("etl-server-worker-0", "Running")
    await until_job(world, "etl-client", "Pending")
    assert (await world.found("etl-server")).status.state.phase == "Running"


CASES = [
    creates_jobs_in_the_order_of_their_dependencies,
    makes_the_job_of_template_and_patch,
    fails_with_a_job_and_creates_no_further_ones,
    fails_with_a_terminated_job,
    continues_after_a_job_was_aborted_and_resumed,
    deletes_its_jobs_after_success,
    keeps_the_outcome_of_a_job_with_a_time_to_live,
    creates_a_job_again_that_was_deleted_before_its_end,
    is_deleted_with_its_jobs,
    waits_for_a_missing_template,
    leaves_a_job_of_another_owner,
    reports_a_cycle_and_affects_no_other,
    starts_the_next_job_when_pods_have_a_phase,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_flow(case: Callable[[JobWorld], Awaitable[Any]]) -> None:
    async def run() -> None:
        async with JobWorld(runs=True, controllers=(JOB, JOB_FLOW, JOB_TEMPLATE)).running() as world:
            await case(world)

    run_virtually(run())


# -- crashes and faults -------------------------------------------------------------------------------------------


async def succeeds_with_two_jobs(world: JobWorld) -> dict[str, int]:
    """Run a flow of two Jobs to its end, and return the number of Jobs by name."""
    created: dict[str, set[str]] = {}
    await create_flow(world, step("a"), step("b", "a"), jobRetainPolicy="delete")
    async with asyncio.timeout(300):
        while (await found_flow(world)).status.state.phase != "Succeed" or await jobs(world):
            for job in (await world.client.list(VOLCANO_JOBS)).items:
                created.setdefault(job.metadata.name, set()).add(job.metadata.uid)
                if job.status.state.phase == "Running":
                    await world.phase(f"{job.metadata.name}-worker-0", "Succeeded", 0)
            await asyncio.sleep(0.1)
    return {name: len(uids) for name, uids in created.items()}


POINTS = crash_points({"create jobs": 2, "patch jobflows/status": 8, "delete jobs": 2})


@pytest.mark.parametrize("point", POINTS)
def test_flow_killed_at_a_write_creates_each_job_once(point: str) -> None:
    async def run() -> dict[str, int]:
        world = JobWorld(runs=True, controllers=(JOB, JOB_FLOW))
        async with world.running(point):
            created = await succeeds_with_two_jobs(world)
            assert world.deaths == 1, f"{point} was not reached: {world.passed}"
            return created

    assert run_virtually(run()) == {"etl-a": 1, "etl-b": 1}


def test_flow_of_two_controllers_at_a_time_creates_each_job_once() -> None:
    async def run() -> dict[str, int]:
        world = JobWorld(runs=True, controllers=(JOB, JOB_FLOW))
        async with world.running():
            world.start()
            return await succeeds_with_two_jobs(world)

    assert run_virtually(run()) == {"etl-a": 1, "etl-b": 1}


@pytest.mark.parametrize("seed", range(4))
def test_flow_with_failing_requests_creates_each_job_once(seed: int) -> None:
    async def run() -> dict[str, int]:
        world = JobWorld(runs=True, controllers=(JOB, JOB_FLOW))
        faults = world.injected
        faults.chance.seed(seed)
        faults.refused, faults.lost, faults.conflicts = 0.1, 0.1, 0.1
        async with world.running():
            return await succeeds_with_two_jobs(world)

    assert run_virtually(run()) == {"etl-a": 1, "etl-b": 1}
