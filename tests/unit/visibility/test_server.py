"""Who is answered, over HTTPS, and with which status."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import ClientError, web

from stromboli.visibility.questions import ROOT, Question, VisibilityAnswer
from stromboli.visibility.reviews import Person, PersonReviews
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
    "list of a text": ("POST", "/plans", b'{"kind": "List", "items": "a"}', 400, "nor a List of objects"),
    "list of nothing": ("POST", "/plans", b'{"kind": "List", "items": null}', 400, "nor a List of objects"),
    "deep body": ("POST", "/plans", b'{"a":' * 100_000, 400, "the body is not a JSON object"),
    "objects of a name": ("POST", "/plans/x", b"{}", 404, "has no create of plans"),
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


STRANGERS = {
    "nothing": ({}, "team-a", 401),
    "a wrong token": ({"Authorization": "Bearer wrong"}, "team-a", 401),
    "another namespace": (BEARER, "team-b", 403),
}


@pytest.mark.parametrize("case", STRANGERS)
async def test_objects_of_people_without_the_right_are_not_read(
    asker: Asker, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers, namespace, code = STRANGERS[case]
    original, reads = web.BaseRequest.read, list[str]()

    async def read(request: web.BaseRequest) -> bytes:
        reads.extend([request.path] if request.path.startswith(ROOT) else [])  # not those of the API server
        return await original(request)

    monkeypatch.setattr(web.BaseRequest, "read", read)
    path = f"{ROOT}/namespaces/{namespace}/plans"
    assert (await asker.send("POST", path, headers=headers, body=b"{}"))[0] == code
    assert reads == []
    assert (await asker.send("POST", f"{ROOT}/namespaces/team-a/plans", headers=BEARER, body=b"{}"))[0] == 200
    assert reads == [f"{ROOT}/namespaces/team-a/plans"]


async def test_objects_that_do_not_arrive_end_the_question(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.visibility.server._BODY_SECONDS", 0.05)
    status, document = await asker.send_part("POST", f"{ROOT}/namespaces/team-a/plans", headers=BEARER, length=100)
    assert (status, document["message"]) == (503, "the objects of the question did not arrive within 0.05 s")
    assert asker.questions == []


async def test_only_the_api_server_keeps_its_connection(asker: Asker) -> None:
    await test_person_whom_the_api_server_forwards_is_answered(asker)
    assert await asker.keeps(JOBS, headers=FORWARDED, certificate="proxy")
    for path, headers in ((JOBS, BEARER), (JOBS, {}), (ROOT, {}), ("/nowhere", {})):
        assert not await asker.keeps(path, headers=headers)


async def test_reviews_of_tokens_do_not_block_those_of_known_people() -> None:
    stuck = asyncio.Event()

    class Reviewing:
        async def request(self, method: str, path: str, *, body: bytes, timeout: float) -> bytes:
            if path.endswith("tokenreviews"):
                await stuck.wait()
            return b'{"status": {"allowed": true}}'

    reviews = PersonReviews(Reviewing())
    strangers = [asyncio.create_task(reviews.person(f"token-{number}")) for number in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await reviews.may(Person("ana"), Question("jobs", "team-a"))
    stuck.set()
    await asyncio.gather(*strangers, return_exceptions=True)
