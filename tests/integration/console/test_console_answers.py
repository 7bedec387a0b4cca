"""Every route answers with the state of the cluster, in its documented type."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from stromboli.cli.commands.run.console import program_factory
from stromboli.console.openapi import FILE, encoded
from stromboli.console.routes import ROUTES, ApiRoute
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.kube.client.config.connection import Connection
from tests.integration.console.conftest import ANA, SECRETS, ConsoleClient

pytestmark = pytest.mark.only("embedded", because="roles of further users are those of the local server")

_JOB = {"namespace": "team-a", "podGroup": "big", "node": "a", "number": "1"}
_CALCULATED = ("explainJob", "scoreJob", "plan", "diffPolicies", "simulate")
_OTHERS = ("streamEvents", "getJobYaml", "getSession")
_READS = [route for route in ROUTES if route.method == "GET" and route.name not in (*_CALCULATED, *_OTHERS)]


def _path(route: ApiRoute) -> str:
    return route.path.format(**_JOB)


def test_description_is_that_of_the_routes() -> None:
    assert FILE.read_bytes() == encoded(), "run python -m stromboli.console.openapi"


@pytest.mark.parametrize("route", _READS, ids=lambda route: route.name)
async def test_answer_has_the_documented_type(root: ConsoleClient, route: ApiRoute) -> None:
    status, body, headers = await root.send("GET", _path(route))
    assert status == 200, body
    assert headers["Content-Type"].startswith(route.media)
    msgspec.json.decode(body, type=route.answer)


async def test_person_of_one_namespace_gets_numbers_for_others(ana: ConsoleClient) -> None:
    for route in ROUTES:
        if route.method != "GET" or route.name in (*_CALCULATED, "streamEvents"):
            continue
        _, body, _ = await ana.send("GET", _path(route))
        assert not [name for name in SECRETS if name.encode() in body], (route.name, body)
    listed = await ana.get("/api/jobs")
    assert [job["job"] for job in listed["jobs"]] == ["big"]
    assert listed["hidden"] == {"waiting": 1, "running": 0, "completed": 0}
    assert (await ana.get("/api/nodes"))["hidden"] == 2
    assert (await ana.get("/api/overview"))["waiting"] == 2
    detail = await ana.get("/api/jobs/team-a/big")
    assert detail["message"] == "0/2 nodes fit: evicted for other-namespace/1. Ask namespace other-namespace."


async def test_hidden_job_answers_like_a_missing_one(ana: ConsoleClient) -> None:
    for path in ("", "/yaml", "/history", "/explanation", "/scores"):
        hidden = await ana.get(f"/api/jobs/team-b/secret-job{path}", 404)
        missing = await ana.get(f"/api/jobs/team-c/other{path}", 404)
        assert hidden["message"].replace("team-b/secret-job", "team-c/other") == missing["message"]


async def test_condition_of_a_list_does_not_find_hidden_names(ana: ConsoleClient) -> None:
    for query in ("namespace=team-b", "queue=secret-queue", "owner=secret-person", "search=secret"):
        found = await ana.get(f"/api/jobs?{query}")
        assert (found["total"], found["hidden"]["waiting"]) == (0, 1), query


async def test_list_filters_sorts_and_pages(root: ConsoleClient) -> None:
    async def names(query: str) -> list[str]:
        return [job["job"] for job in (await root.get(f"/api/jobs?{query}"))["jobs"]]

    assert await names("sort=job") == ["big", "secret-job"]
    assert await names("sort=-job&limit=1") == ["secret-job"]
    assert await names("sort=job&offset=1") == ["secret-job"]
    assert await names("owner=secret-person") == ["secret-job"]
    assert await names("queue=secret-queue,other") == ["secret-job"]
    assert await names("reason=NODES+FIT") == ["big"]
    assert await names("phase=Running") == []


@pytest.mark.parametrize("query", ["sort=colour", "limit=x", "limit=1001", "limit=0000000000000001001", "offset=-1"])
async def test_invalid_parameter_is_named(root: ConsoleClient, query: str) -> None:
    assert query.partition("=")[0] in (await root.get(f"/api/jobs?{query}", 400))["message"]


async def test_yaml_needs_the_right_to_get_the_object(ana: ConsoleClient, root: ConsoleClient) -> None:
    pod = (await root.get("/api/jobs/team-a/big"))["pods"][0]["pod"]
    status, body, headers = await root.send("GET", f"/api/jobs/team-a/big/yaml?pod={pod}")
    assert (status, headers["Content-Type"]) == (200, "application/yaml; charset=utf-8")
    assert b"kind: Pod" in body
    assert b"managedFields" not in body
    assert (await ana.send("GET", "/api/jobs/team-a/big/yaml"))[0] == 200
    assert "pods" in (await ana.get(f"/api/jobs/team-a/big/yaml?pod={pod}", 403))["message"]


async def test_explanation_of_a_tenant_names_no_other(ana: ConsoleClient) -> None:
    found = await ana.get("/api/jobs/team-a/big/explanation")
    assert found["waiting"]
    assert not [name for name in SECRETS if name in str(found)]


async def test_plan_with_a_proposed_change_starts_the_job(ana: ConsoleClient) -> None:
    change = (await ana.get("/api/jobs/team-a/big/explanation"))["smallestChange"]["description"]
    asked = {"namespace": "team-a", "job": "team-a/big", "change": change}
    report = await ana.post("/api/plans", asked)
    assert {each["job"]: each["waiting"] for each in report["jobs"]} == {"team-a/big": False}
    assert "no longer proposed" in (await ana.post("/api/plans", {**asked, "change": "delete all"}, 422))["message"]
    await ana.post("/api/plans", {**asked, "job": "team-b/secret-job"}, 404)


async def test_plan_of_a_manifest(root: ConsoleClient, ana: ConsoleClient) -> None:
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "new"},
        "spec": {"template": {"spec": {"schedulerName": "stromboli", "restartPolicy": "Never", "containers": [
            {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}},
    }  # fmt: skip
    manifests = msgspec.json.encode(job).decode()
    found = await root.post("/api/plans", {"manifests": manifests, "namespace": "team-b"})
    assert [(each["job"].partition("/")[0], each["waiting"]) for each in found["jobs"]] == [("team-b", False)]
    assert "team-b" in (await ana.post("/api/plans", {"manifests": manifests, "namespace": "team-b"}, 403))["message"]
    everything: dict[str, Any] = {"namespace": "team-a", "policy": 'actions: "allocate"'}
    assert "all namespaces" in (await ana.post("/api/plans", everything, 403))["message"]
    assert "namespace" in (await ana.post("/api/plans", {"manifests": manifests}, 400))["message"]
    for path in ("/api/policy-diffs", "/api/simulations"):
        assert "all namespaces" in (await ana.post(path, {}, 403))["message"]


async def test_session_states_the_rights(root: ConsoleClient, ana: ConsoleClient) -> None:
    mine, all_rights = await ana.get("/api/session"), await root.get("/api/session")
    assert (mine["user"], mine["namespaces"]) == ("ana", ["team-a"])
    assert mine["rights"] == {"allNamespaces": False, "nodes": False, "allQueues": False, "policy": False}
    assert (all_rights["namespaces"], all_rights["rights"]["policy"]) == (None, True)
    assert ANA not in str(mine)


async def test_path_of_the_client_gets_its_page(root: ConsoleClient) -> None:
    status, body, headers = await root.send("GET", "/jobs/team-a/big")
    assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/html")
    assert body.lower().startswith(b"<!doctype html>")
    assert (await root.get("/api/unknown", 404))["reason"] == "NotFound"


async def test_cycle_shows_decisions_about_readable_jobs(root: ConsoleClient, ana: ConsoleClient) -> None:
    [listed] = (await root.get("/api/cycles"))["cycles"]
    assert (listed["number"], listed["binds"], listed["waiting"]) == (1, 1, 1)
    whole, own = await root.get("/api/cycles/1"), await ana.get("/api/cycles/1")
    assert ([each["job"] for each in whole["binds"]], whole["hidden"]) == (["team-b/secret-job"], 0)
    assert [each["job"] for each in whole["scores"]] == ["team-b/secret-job"]
    assert (own["binds"], [each["job"] for each in own["refusals"]], own["hidden"]) == ([], ["team-a/big"], 1)
    assert (await root.get("/api/cycles?before=1"))["cycles"] == []
    await root.get("/api/cycles/2", 404)


async def test_cluster_that_cannot_be_reached_is_reported() -> None:
    """Nothing but the state of the console is answered, and the reason is not that of a login."""
    nowhere = Connection("http://127.0.0.1:1", None)
    server = ConsoleServer(ConsoleSettings(lambda: nowhere, program_factory(()), "127.0.0.1:0"))
    server.start()
    try:
        status, body, headers = await ConsoleClient(server).send("GET", "/readyz")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert b"the cluster" in body
        assert (await ConsoleClient(server).send("GET", "/livez"))[0] == 200
        assert (await ConsoleClient(server, "token").get("/api/overview", 503))["reason"] == "ServiceUnavailable"
    finally:
        await asyncio.to_thread(server.stop)
