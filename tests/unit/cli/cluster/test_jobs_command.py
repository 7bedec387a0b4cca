"""`stromboli jobs`: the states that a scheduler reported, or those of a plan."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.job_source import JobWatch, list_job_objects
from stromboli.cli.text.cluster.jobs import job_changes
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import POD_GROUPS
from stromboli.local.api_server.faults import Answer, Match
from stromboli.local.api_server.server import ApiServer
from stromboli.local.http.calls import ApiCall
from tests.testing.manifests.builders import gang, group, namespace, nodes, priority_class, queue, running
from tests.unit.cli.conftest import Run

HOUR = "2026-01-01T{:02d}:00:00Z"
NOW = ("--now", "2026-01-01T12:00:00Z")


def reported(
    name: str, phase: str, message: str = "", *, condition: str = "Unschedulable", starts: str = "", **facts: Any
) -> Any:
    """Return a group with the status that a scheduler wrote."""
    made = group(name, 2, **facts)
    conditions = [{"type": condition, "status": "True", "reason": "R", "message": message}] if message else []
    if starts:
        conditions.append({"type": "ExpectedStart", "status": "True", "reason": "Estimated", "message": starts})
    running = 2 if phase == "Running" else 0
    return {**made, "status": {"phase": phase, "running": running, "conditions": conditions}}


JOBS = [
    priority_class("urgent", 9),
    namespace("team"),
    queue("research"),
    *nodes(1, 1),
    reported("old", "Pending", "needs 8 cpu, most free on a node is 4. 2/2 tasks in gang unschedulable: x",
             queue="research", created=HOUR.format(2),
             starts="expected to start between 2026-01-01T12:30Z and 2026-01-01T15:00Z"),
    reported("new", "Inqueue", "short", queue="research", created=HOUR.format(10)),
    reported("first", "Pending", "w" * 90, queue="research", priority="urgent", created=HOUR.format(11)),
    reported("busy", "Running", queue="research", created=HOUR.format(1)),
    reported("other", "Pending", "its node is gone", condition="BindStuck", namespace="team",
             created=HOUR.format(9)),
    group("silent", 1, created=HOUR.format(9)),
]  # fmt: skip

TABLE = """\
NAMESPACE  JOB     QUEUE     PHASE    READY  POSITION  STARTS  AGE  REASON
default    busy    research  Running    2/2         -       -  11h
default    first   research  Pending    0/2         1       -  60m  {long}
default    new     research  Inqueue    0/2         3       -   2h  short
default    old     research  Pending    0/2         2  30m-3h  10h  needs 8 cpu, most free on a node is 4
default    silent  default   -          0/1         1       -   3h  no scheduler has reported on it
team       other   default   Pending    0/2         2       -   3h  its node is gone
"""


def test_list_has_the_reported_states_and_places_by_priority_and_age(run: Run) -> None:
    printed = run("jobs", JOBS, *NOW).stdout
    assert printed == TABLE.format(long="w" * 57 + "...")


EXPECTED = [
    pytest.param("between 2026-01-01T12:30Z and 2026-01-01T12:30Z", "30m", id="moment"),
    pytest.param("not before 2026-01-01T13:00Z; the run times of other jobs are unknown", "after 60m", id="open"),
    pytest.param("not before 2026-01-01T11:00Z; the run times of other jobs are unknown", "unknown", id="unknown"),
]


@pytest.mark.parametrize(("message", "column"), EXPECTED)
def test_expected_start_is_shown_from_now_and_on_the_page_of_the_job(message: str, column: str, run: Run) -> None:
    jobs = [*JOBS[:4], reported("job", "Pending", "short", starts=f"expected to start {message}")]
    assert f" {column} " in run("jobs", jobs, *NOW).stdout
    moment = message.split()[-1 if message.startswith("between") else 2].rstrip(";").replace("Z", ":00Z")
    assert f"Starts    {message.split()[0]} " in (page := run("job", jobs, "job", *NOW).stdout), page
    assert moment in page


ALL = ["busy", "first", "new", "old", "silent", "other"]
CHOICES = {
    "namespace": (("-n", "team"), ["other"]),
    "queue": (("--queue", "research"), ["busy", "first", "new", "old"]),
    "waiting": (("--waiting", "--queue", "research"), ["first", "new", "old"]),
    "several queues": (("--queue", "research", "--queue", "default"), ALL),
    "selector": (("-l", "!app"), ALL),
    "selector without match": (("-l", "app in (a, b)"), []),
}


@pytest.mark.parametrize("case", CHOICES)
def test_options_choose_jobs_and_keep_their_places(run: Run, case: str) -> None:
    arguments, names = CHOICES[case]
    jobs = json.loads(run("jobs", JOBS, *arguments, "-o", "json").stdout)["jobs"]
    assert [job["job"] for job in jobs] == names
    assert {job["position"] for job in jobs if job["job"] == "new"} <= {3}


def test_no_jobs_are_reported_on_the_standard_error(run: Run) -> None:
    result = run("jobs", JOBS, "-n", "nowhere")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no jobs in namespace nowhere\n")


def test_manifests_without_a_status_show_what_a_cycle_leaves(run: Run) -> None:
    cluster = [*nodes(4, 1), *gang(2, 2, name="fits"), *gang(3, 2, name="waits")]
    jobs = {job["job"]: job for job in json.loads(run("jobs", cluster, "-o", "json").stdout)["jobs"]}
    assert (jobs["fits"]["phase"], jobs["fits"]["ready"], jobs["fits"]["position"]) == ("Running", 2, None)
    assert (jobs["waits"]["phase"], jobs["waits"]["position"]) == ("Inqueue", 1)
    assert jobs["waits"]["reason"] == "needs 6 cpu, cluster has 4"


def test_plan_replaces_the_reported_states(run: Run) -> None:
    cluster = [*nodes(4, 1), *gang(2, 2, name="train", phase="Inqueue")]
    states = [json.loads(run("jobs", cluster, *more, "-o", "json").stdout)["jobs"][0] for more in ((), ("--plan",))]
    assert [(job["phase"], job["ready"]) for job in states] == [("Inqueue", 0), ("Running", 2)]


WRONG = {
    "both namespaces": (("-n", "team", "-A"), "-n and -A exclude each other"),
    "selector": (("-l", "a==b==c"), "Invalid value for -l: 'a==b==c' is not one of KEY=VALUE"),
    "watch of files": (("-w",), "--watch has no effect with --plan, --when or -f, which are computed once"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_reported(run: Run, case: str) -> None:
    arguments, message = WRONG[case]
    result = run("jobs", JOBS, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def new(manifest: Any) -> Any:
    """Return a manifest of an object that does not exist yet."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in ("uid", "creationTimestamp")}
    return {**manifest, "metadata": metadata}


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        await Applier(client).apply([*map(new, JOBS)], lambda *_: None)
        yield server


async def against(server: ApiServer, folder: Path, *arguments: str) -> Result:
    server.write_kubeconfig(folder / "kubeconfig")
    command = ["jobs", "--kubeconfig", str(folder / "kubeconfig"), *arguments]
    return await asyncio.to_thread(CliRunner().invoke, main, command)


async def test_cluster_is_listed_like_its_manifests(server: ApiServer, tmp_path: Path) -> None:
    def shown(result: Result) -> list[tuple[Any, ...]]:
        jobs = json.loads(result.stdout)["jobs"]
        return [(job["job"], job["phase"], job["position"], job["reason"]) for job in jobs]

    everywhere = await against(server, tmp_path, "-A", "-o", "json")
    here = await against(server, tmp_path, "-o", "json")
    assert [name for name, *_ in shown(everywhere)] == ALL
    assert [name for name, *_ in shown(here)] == ALL[:-1]
    assert ("old", "Pending", 3, "needs 8 cpu, most free on a node is 4") in shown(here)


class InAllNamespaces(Match):
    """Requests for the objects of all namespaces."""

    def hits(self, call: ApiCall) -> bool:
        return not call.namespace and super().hits(call)


async def test_user_of_one_namespace_sees_its_jobs_without_places(server: ApiServer, tmp_path: Path) -> None:
    denied = Answer(403, "Forbidden", "no")
    server.faults.add(Match(verb="list", plural="priorityclasses"), denied, times=None)
    server.faults.add(InAllNamespaces(verb="list", plural="podgroups"), denied, times=None)
    result = await against(server, tmp_path, "-n", "team")
    assert result.stderr == "warning: priorities are shown as 0: PriorityClasses cannot be listed\n"
    [header, line] = result.stdout.splitlines()
    assert header.split() == ["JOB", "QUEUE", "PHASE", "READY", "POSITION", "STARTS", "AGE", "REASON"]
    assert line.split()[:5] == ["other", "default", "Pending", "0/2", "-"]


async def test_forbidden_list_is_an_error(server: ApiServer, tmp_path: Path) -> None:
    server.faults.add(Match(verb="list", plural="podgroups"), Answer(403, "Forbidden", "no"), times=None)
    result = await against(server, tmp_path, "-A")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: 403 Forbidden: ")


async def test_watch_prints_changes(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    async with Client(server.connection) as client:
        watch = JobWatch(client, await list_job_objects(client), "")
        changes = job_changes("name", lambda: 0.0, with_namespace=True)
        watching = asyncio.ensure_future(watch.run())
        await asyncio.wait_for(watch.synced(), 30)
        changes.show(watch.current.jobs())
        capsys.readouterr()
        await client.patch(POD_GROUPS, "other", {"status": {"phase": "Running"}}, namespace="team")
        await client.delete(POD_GROUPS, "busy", namespace="default")
        while len(watch.current.groups) == 6 or not _runs(watch, "other"):
            await asyncio.wait_for(watch.changed.wait(), 30)
            watch.changed.clear()
        watching.cancel()
        changes.show(watch.current.jobs())
    printed = [line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["busy", "other"]


def _runs(watch: JobWatch, name: str) -> bool:
    return any(each.metadata.name == name and each.status.phase == "Running" for each in watch.current.groups)


def test_expected_starts_are_ranges_or_known_bounds(run: Run) -> None:
    limited = {"scheduling.stromboli.dev/run-time": "1h"}
    cluster = [
        *nodes(4, 1), *running("a", 4, name="busy", minimum=1, placed=HOUR.format(12), annotations=limited),
        *gang(1, 4, name="next", created=HOUR.format(12)),
    ]  # fmt: skip
    arguments = ("--plan", "--when", *NOW)
    lines = run("jobs", cluster, *arguments).stdout.splitlines()
    assert lines[2].split()[6] == "60m"
    jobs = {job["job"]: job for job in json.loads(run("jobs", cluster, *arguments, "-o", "json").stdout)["jobs"]}
    assert jobs["busy"]["expectedStart"] is None
    assert jobs["next"]["expectedStart"]["earliest"].startswith("2026-01-01T13:00")
