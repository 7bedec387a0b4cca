"""The webhook over the wire: who is answered, who is turned away, and what is asked of the API server for it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import io
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
import msgspec
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stromboli.admission.authorisation import Authorisation, AuthorisationUnavailable
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.requests import User
from stromboli.admission.reviewer import Reviewer
from stromboli.admission.server import MAX_BODY_SIZE, Server
from stromboli.admission.tls import Certificate, InvalidCertificate
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.local.http.certificates import make_certificates
from stromboli.observability.addresses import Address
from tests.unit.admission.requests import ALICE, FACTS, Document, pod, request

DEADLINE = 30.0


@dataclass
class Api:
    """An API server that says who may use a queue, and what a queue is; and writes down what it was asked."""

    allows: bool = True
    status: int = 201
    queues: dict[str, Document] = field(default_factory=dict)
    asked: list[Document] = field(default_factory=list)
    #: Nobody is answered before it is set.
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def review(self, question: web.Request) -> web.Response:
        self.asked.append((await question.json())["spec"])
        await self.gate.wait()
        return web.json_response({"status": {"allowed": self.allows}}, status=self.status)

    async def queue(self, question: web.Request) -> web.Response:
        found = self.queues.get(question.match_info["name"])
        return web.json_response(found or {"kind": "Status", "code": 404}, status=200 if found else 404)


@pytest.fixture
async def api() -> Api:
    api = Api()
    api.gate.set()
    return api


@pytest.fixture
async def client(api: Api) -> AsyncIterator[Client]:
    application = web.Application()
    application.router.add_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", api.review)
    application.router.add_get("/apis/scheduling.volcano.sh/v1beta1/queues/{name}", api.queue)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with Client(Connection(f"http://127.0.0.1:{runner.addresses[0][1]}", None)) as connected:
        yield connected
    await runner.cleanup()


# -- who may use a queue ----------------------------------------------------------------------------------------------


async def test_the_server_is_asked_as_the_person_who_asked_us(api: Api, client: Client) -> None:
    user = User("alice", "7", ["team:a"], {"scopes": ["x"]})
    assert await Authorisation(client, 10).may_use(user, "science")
    attributes = {"group": "scheduling.volcano.sh", "resource": "queues", "verb": "use", "name": "science"}
    person = {"user": "alice", "uid": "7", "groups": ["team:a"], "extra": {"scopes": ["x"]}}
    assert api.asked == [{**person, "resourceAttributes": attributes}]


async def test_an_answer_is_remembered_for_a_while(api: Api, client: Client) -> None:
    moment = 0.0
    authorisation = Authorisation(client, 10, clock=lambda: moment)
    assert [await authorisation.may_use(ALICE, "science") for _ in range(3)] == [True] * 3
    assert len(api.asked) == 1
    api.allows = False
    assert await authorisation.may_use(ALICE, "science")
    assert not await authorisation.may_use(ALICE, "physics")
    assert not await authorisation.may_use(User("alice", groups=["other"]), "science")
    moment = 11.0
    assert not await authorisation.may_use(ALICE, "science")
    assert len(api.asked) == 4


async def test_a_gang_asks_once(api: Api, client: Client) -> None:
    api.gate.clear()
    authorisation = Authorisation(client, 0)
    members = [asyncio.create_task(authorisation.may_use(ALICE, "science")) for _ in range(50)]
    members[0].cancel()
    await asyncio.sleep(0)
    api.gate.set()
    answers = await asyncio.gather(*members, return_exceptions=True)
    assert answers[1:] == [True] * 49
    assert len(api.asked) == 1


async def test_no_answer_is_no_permission_and_is_not_remembered(api: Api, client: Client) -> None:
    told: list[str] = []
    authorisation = Authorisation(client, 10, told=told.append)
    api.status = 500
    with pytest.raises(AuthorisationUnavailable):
        await authorisation.may_use(ALICE, "science")
    api.status = 201
    assert await authorisation.may_use(ALICE, "science")
    assert told == ["unanswered", "allowed"]


GROUP = {"spec": {"queue": "science"}}

FAILURES = {
    "allowed": (True, 201, False, ""),
    "denied": (
        False,
        201,
        False,
        "spec.queue: queue 'science': 'alice' may not use it; name another, or ask for the verb use",
    ),
    "no answer": (True, 500, False, "spec.queue: queue 'science': nobody says whether 'alice' may use it"),
    "no answer, and that will do": (True, 500, True, ""),
}


@pytest.mark.parametrize("story", FAILURES)
async def test_a_queue_is_used_by_those_who_may(api: Api, client: Client, story: str) -> None:
    api.allows, api.status, lenient, words = FAILURES[story]
    reviewer = Reviewer(client, lambda: FACTS, AdmissionPolicy(), Authorisation(client, 10), allows_unanswered=lenient)
    verdict = await reviewer.review(request("PodGroup", GROUP, user=ALICE))
    assert verdict.is_allowed is (not words)
    assert words in verdict.message
    assert bool(verdict.warnings) is lenient


async def test_a_queue_is_read_again_before_anything_is_refused_for_it(api: Api, client: Client) -> None:
    reviewer = Reviewer(client, lambda: FACTS, AdmissionPolicy(), Authorisation(client, 10))
    asked = request("PodGroup", {"spec": {"queue": "fresh"}})
    assert "queue 'fresh' does not exist" in (await reviewer.review(asked)).message
    api.queues["fresh"] = {"metadata": {"name": "fresh"}}
    assert (await reviewer.review(asked)).is_allowed
    api.queues["fresh"]["status"] = {"state": "Closed"}
    assert "queue 'fresh' is Closed" in (await reviewer.review(asked)).message


# -- over the wire ----------------------------------------------------------------------------------------------------


def write_certificate(folder: Path) -> ssl.SSLContext:
    """Put a new certificate in place; answers who trusts it."""
    made = make_certificates()
    (folder / "tls.crt").write_bytes(made.certificate)
    (folder / "tls.key").write_bytes(made.key)
    (folder / "ca.crt").write_bytes(made.authority)
    return made.client_context()


class Broken(BinderPlugin):
    name: ClassVar[str] = "broken"

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        if "break" in pod["metadata"]["annotations"]:
            raise KeyError("share")
        return []


TERMS = AdmissionPolicy(plugins=(Broken(),))


class Door:
    """A server that listens, and a way to speak to it."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.trust = write_certificate(folder)
        self.certificate = Certificate(str(folder / "tls.crt"), str(folder / "tls.key"))
        self.metrics = AdmissionMetrics()
        self.problem: str | None = None
        self.reviewer = Reviewer(client, lambda: FACTS, TERMS, Authorisation(client, 10))
        self.server = Server(self.reviewer, self.metrics, at_once=2, ready=lambda: self.problem, body_seconds=0.3)
        self.url = ""

    async def post(self, body: Any, path: str = "/validate", trust: ssl.SSLContext | None = None) -> tuple[int, bytes]:
        connector = aiohttp.TCPConnector(ssl=trust or self.trust)
        timeout = aiohttp.ClientTimeout(total=DEADLINE)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.post(f"{self.url}{path}", data=body) as answer,
        ):
            return answer.status, await answer.read()

    def turned_away(self, code: str) -> float:
        return self.metrics.registry.get_sample_value("stromboli_admission_turned_away_total", {"code": code}) or 0.0


@pytest.fixture
async def door(tmp_path: Path, client: Client) -> AsyncIterator[Door]:
    door = Door(tmp_path, client)
    address = await door.server.start(Address("127.0.0.1", 0), door.certificate)
    door.url = f"https://127.0.0.1:{address.port}"
    yield door
    await door.server.stop()


def asked(kind: str, document: Document) -> bytes:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return msgspec.json.encode({**review, "request": msgspec.to_builtins(request(kind, document, user=ALICE))})


async def test_questions_are_answered(door: Door) -> None:
    status, body = await door.post(asked("PodGroup", {"spec": {"queue": "nowhere", "minMember": 1}}))
    response = msgspec.json.decode(body)["response"]
    assert (status, response["uid"], response["allowed"]) == (200, "1", False)
    assert response["status"]["code"] == 422
    assert "queue 'nowhere' does not exist" in response["status"]["message"]
    status, body = await door.post(asked("Pod", pod(scheduler="default-scheduler", group="g")), "/mutate")
    assert msgspec.json.decode(body)["response"]["patchType"] == "JSONPatch"


async def _drops(number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b" " * 65536


async def _trickle() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


TOO_MUCH = {
    "too large": (lambda: io.BytesIO(b" " * (MAX_BODY_SIZE + 1)), 413, b"a review holds at most 3145728 bytes"),
    "too large, and nobody says so": (lambda: _drops(MAX_BODY_SIZE // 65536 + 1), 413, b"a review holds at most"),
    "too slow": (_trickle, 408, b"the request took longer than 0.3 s to arrive"),
    "no review": (lambda: b"{}", 400, b"expected admission.k8s.io/v1 AdmissionReview"),
}


@pytest.mark.parametrize("story", TOO_MUCH)
async def test_what_cannot_be_answered_is_turned_away(door: Door, story: str) -> None:
    make, code, words = TOO_MUCH[story]
    status, body = await door.post(make())
    assert (status, words in body) == (code, True), body
    assert door.turned_away(str(code)) == 1
    assert (await door.post(asked("PodGroup", {})))[0] == 200, "others are answered as before"


async def test_before_everything_was_listed_nobody_is_answered(door: Door) -> None:
    door.problem = "not listed yet: queues"
    assert await door.post(asked("PodGroup", {})) == (503, b"not ready: not listed yet: queues\n")


async def test_a_rule_that_breaks_is_no_answer(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    """The API server then does what was chosen for the case that nobody answers."""
    assert await door.post(asked("Pod", pod(annotations={"break": "yes"}))) == (
        500,
        b"the request could not be answered; the log says why\n",
    )
    assert "KeyError: 'share'" in caplog.text
    assert (await door.post(asked("PodGroup", {})))[0] == 200


async def test_so_many_are_looked_at_at_a_time(door: Door, api: Api) -> None:
    api.gate.clear()
    questions = [
        asyncio.create_task(door.post(asked("PodGroup", {"metadata": {"name": f"g{n}"}, "spec": {"queue": name}})))
        for n, name in enumerate(("science", "physics", "root"))
    ]
    async with asyncio.timeout(DEADLINE):
        while len(api.asked) < 2:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert len(api.asked) == 2, "the third waits for its turn"
    api.gate.set()
    assert [status for status, _ in await asyncio.gather(*questions)] == [200] * 3
    assert len(api.asked) == 3


async def test_a_new_certificate_is_used_and_a_broken_one_is_not(door: Door, tmp_path: Path) -> None:
    body = asked("PodGroup", {})
    (tmp_path / "tls.key").write_text("nothing")
    door.certificate.refresh()
    assert (await door.post(body))[0] == 200, "the last good one stays"
    old, new = door.trust, write_certificate(tmp_path)
    door.certificate.refresh()
    assert (await door.post(body, trust=new))[0] == 200
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await door.post(body, trust=old)


def write_client(folder: Path) -> None:
    """Somebody who vouches for themselves."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "client")])
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "clients.crt").write_bytes(certificate)
    (folder / "client.pem").write_bytes(key.private_bytes(*form) + certificate)


@contextlib.contextmanager
def refused_by(words: str) -> Iterator[None]:
    with pytest.raises(InvalidCertificate) as refused:
        yield
    assert words in str(refused.value)


def test_files_that_make_no_certificate_are_named(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    certificate, key, nothing = (str(tmp_path / name) for name in ("tls.crt", "tls.key", "missing"))
    with refused_by("tls.crt and "):
        Certificate(certificate, nothing)
    with refused_by("No such file or directory"):
        Certificate(certificate, nothing)
    with refused_by("they cannot be used"):
        Certificate(key, certificate)
    with refused_by("missing: No such file"):
        Certificate(certificate, key, nothing)


async def test_only_those_who_show_a_certificate_are_answered(door: Door, tmp_path: Path) -> None:
    write_client(tmp_path)
    strict = Certificate(*(str(tmp_path / name) for name in ("tls.crt", "tls.key", "clients.crt")))
    server = Server(door.reviewer, door.metrics, at_once=2, ready=lambda: None)
    address = await server.start(Address("127.0.0.1", 0), strict)
    door.url = f"https://127.0.0.1:{address.port}"
    try:
        with pytest.raises(aiohttp.ClientError):
            await door.post(asked("PodGroup", {}))
        door.trust.load_cert_chain(tmp_path / "client.pem")
        assert (await door.post(asked("PodGroup", {})))[0] == 200
    finally:
        await server.stop()
