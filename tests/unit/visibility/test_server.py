"""Who is answered, over HTTPS, and with which status."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import ClientError

from stromboli.visibility.questions import ROOT, VisibilityAnswer
from tests.unit.visibility.conftest import Asker, EchoingProcess, failing

JOBS = f"{ROOT}/namespaces/team-a/jobs"
BEARER = {"Authorization": "Bearer token-of-ana"}
FORWARDED = {"X-Remote-User": "ana", "X-Remote-Group": "researchers"}


async def test_person_with_a_token_is_answered(asker: Asker) -> None:
    status, answer = await asker.get(f"{JOBS}/train/explanation?output=table&timeout=5s", headers=BEARER)
    assert (status, answer["kind"], answer["result"]) == (200, "Answer", "jobs/explanation")
    [question] = asker.questions
    assert (question.namespace, question.name, question.output, question.verb) == ("team-a", "train", "table", "get")


async def test_person_whom_the_api_server_forwards_is_answered(asker: Asker) -> None:
    async with asyncio.timeout(10):
        while (await asker.get(JOBS, headers=FORWARDED, certificate="proxy"))[0] != 200:
            await asyncio.sleep(0.05)  # until the configuration of the front proxy is read


NOT_AUTHENTICATED = {
    "nothing": ({}, ""),
    "a wrong token": ({"Authorization": "Bearer wrong"}, ""),
    "no bearer token": ({"Authorization": "Basic YTph"}, ""),
    "headers without a certificate": (FORWARDED, ""),
    "a certificate without headers": ({}, "proxy"),
}


@pytest.mark.parametrize("case", NOT_AUTHENTICATED)
async def test_requests_that_prove_nothing_are_rejected(asker: Asker, case: str) -> None:
    headers, certificate = NOT_AUTHENTICATED[case]
    status, document = await asker.get(JOBS, headers=headers, certificate=certificate)
    assert (status, document["kind"], document["reason"]) == (401, "Status", "Unauthorized")
    assert asker.questions == []


async def test_certificate_of_another_authority_is_rejected(asker: Asker) -> None:
    await test_person_whom_the_api_server_forwards_is_answered(asker)
    with pytest.raises((OSError, ClientError), match=r"."):  # by TLS
        await asker.get(JOBS, headers=FORWARDED, certificate="foreign")


async def test_other_namespace_is_forbidden_with_the_role_that_helps(asker: Asker) -> None:
    status, document = await asker.get(f"{ROOT}/namespaces/team-b/jobs", headers=BEARER)
    assert (status, document["reason"]) == (403, "Forbidden")
    assert document["message"] == (
        'User "ana" cannot list resource "jobs" in API group "visibility.stromboli.dev" in the namespace "team-b"; '
        "the role stromboli-user has this right"
    )


REJECTED: dict[str, tuple[str, str, bytes | None, int, str]] = {
    "unknown resource": ("GET", "/pods", None, 404, "has no list of pods"),
    "unknown subresource": ("GET", "/jobs/train/logs", None, 404, "has no get of jobs/logs"),
    "creation of jobs": ("POST", "/jobs", b"{}", 404, "has no create of jobs"),
    "deletion": ("DELETE", "/jobs/train", None, 400, "DELETE is not a question"),
    "unknown parameter": ("GET", "/jobs?color=red", None, 400, "unknown parameter color; known: output, explain"),
    "unknown format": ("GET", "/jobs?output=xml", None, 400, "output 'xml' is not one of json, table"),
    "broken body": ("POST", "/plans", b"{", 400, "the body is not a JSON object"),
    "list of texts": ("POST", "/plans", b'{"kind": "List", "items": ["a"]}', 400, "nor a List of objects"),
    "large body": ("POST", "/plans", b" " * (9 << 20), 413, "may have 8 MiB"),
}


@pytest.mark.parametrize("case", REJECTED)
async def test_invalid_questions_are_rejected_with_a_status(asker: Asker, case: str) -> None:
    method, path, body, code, message = REJECTED[case]
    status, document = await asker.send(method, f"{ROOT}/namespaces/team-a{path}", headers=BEARER, body=body)
    assert (status, document["kind"], document["code"]) == (code, "Status", code)
    assert message in document["message"]
    assert asker.questions == []


OUTCOMES: dict[str, tuple[Any, int, str]] = {
    "no such job": (lambda question: VisibilityAnswer(problem="no job is called x"), 422, "no job is called x"),
    "too long": (failing("the answer takes longer than 45 s"), 503, "the answer takes longer than 45 s"),
}


@pytest.mark.parametrize("case", OUTCOMES)
async def test_questions_without_an_answer_have_a_status(asker: Asker, process: EchoingProcess, case: str) -> None:
    process.outcome, code, message = OUTCOMES[case]
    status, document = await asker.get(JOBS, headers=BEARER)
    assert (status, document["message"]) == (code, message)


async def test_objects_are_part_of_a_plan(asker: Asker) -> None:
    body = msgspec.json.encode({"kind": "PodList", "items": [{"kind": "Pod"}]})
    status, _ = await asker.send("POST", f"{ROOT}/namespaces/team-a/plans", headers=BEARER, body=body)
    assert (status, asker.questions[0].verb, asker.questions[0].objects) == (200, "create", [{"kind": "Pod"}])


async def test_discovery_lists_every_resource_with_its_verbs(asker: Asker) -> None:
    _, group = await asker.get("/apis/visibility.stromboli.dev")
    status, resources = await asker.get(ROOT)
    assert (status, group["preferredVersion"]["groupVersion"]) == (200, "visibility.stromboli.dev/v1alpha1")
    assert {each["name"]: each["verbs"] for each in resources["resources"]}["jobs/explanation"] == ["get"]
