"""The webhook server: responses, rejections, access reviews and certificates."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import io
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
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

from stromboli.admission.access.authorisation import Authorisation, AuthorisationUnavailable
from stromboli.admission.access.members import GroupMembers
from stromboli.admission.callers import PathSecrets
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.metrics import AdmissionMetrics
from stromboli.admission.requests import User
from stromboli.admission.reviewer import Reviewer
from stromboli.admission.server import MAX_BODY_SIZE, Server
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.serving.address import Address
from stromboli.serving.certificates import make_certificates
from stromboli.serving.listener import Listener
from stromboli.serving.tls import Certificate, InvalidCertificate
from tests.unit.admission.requests import ADMINISTRATOR, ALICE, FACTS, Document, pod, request

DEADLINE = 30.0


@dataclass
class Api:
    """An API server for access reviews and queues, which records the reviews."""

    allows: bool = True
    status: int = 201
    queues: dict[str, Document] = field(default_factory=dict)
    asked: list[Document] = field(default_factory=list)
    pods: list[Document] = field(default_factory=list)
    pod_lists: int = 0
    pod_status: int = 200
    templates: list[Document] = field(default_factory=list)
    template_status: int = 200
    #: Access reviews wait until it is set.
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def review(self, question: web.Request) -> web.Response:
        self.asked.append((await question.json())["spec"])
        await self.gate.wait()
        return web.json_response({"status": {"allowed": self.allows}}, status=self.status)

    async def list_pods(self, question: web.Request) -> web.Response:
        self.pod_lists += 1
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": self.pods}, status=self.pod_status)

    async def list_templates(self, question: web.Request) -> web.Response:
        body = {"metadata": {"resourceVersion": "1"}, "items": self.templates}
        return web.json_response(body, status=self.template_status)

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
    application.router.add_get("/api/v1/namespaces/{namespace}/pods", api.list_pods)
    flows = "/apis/flow.volcano.sh/v1alpha1/namespaces/{namespace}"
    application.router.add_get(f"{flows}/jobtemplates", api.list_templates)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with Client(Connection(f"http://127.0.0.1:{runner.addresses[0][1]}", None)) as connected:
        yield connected
    await runner.cleanup()


# -- access reviews ---------------------------------------------------------------------------------------------------


async def test_access_review_carries_the_requesting_user(api: Api, client: Client) -> None:
    user = User("alice", "7", ["team:a"], {"scopes": ["x"]})
    assert await Authorisation(client, 10).allows(user, "science")
    attributes = {"group": "scheduling.volcano.sh", "resource": "queues", "verb": "use", "name": "science"}
    person = {"user": "alice", "uid": "7", "groups": ["team:a"], "extra": {"scopes": ["x"]}}
    assert api.asked == [{**person, "resourceAttributes": attributes}]


async def test_access_review_is_cached_until_ttl(api: Api, client: Client) -> None:
    moment = 0.0
    authorisation = Authorisation(client, 10, clock=lambda: moment)
    assert [await authorisation.allows(ALICE, "science") for _ in range(3)] == [True] * 3
    assert len(api.asked) == 1
    api.allows = False
    assert await authorisation.allows(ALICE, "science")
    assert not await authorisation.allows(ALICE, "physics")
    assert not await authorisation.allows(User("alice", groups=["other"]), "science")
    moment = 11.0
    assert not await authorisation.allows(ALICE, "science")
    assert len(api.asked) == 4


async def test_concurrent_equal_questions_share_one_access_review(api: Api, client: Client) -> None:
    api.gate.clear()
    authorisation = Authorisation(client, 0)
    members = [asyncio.create_task(authorisation.allows(ALICE, "science")) for _ in range(50)]
    members[0].cancel()
    await asyncio.sleep(0)
    api.gate.set()
    answers = await asyncio.gather(*members, return_exceptions=True)
    assert answers[1:] == [True] * 49
    assert len(api.asked) == 1


async def test_failed_access_review_denies_and_is_not_cached(api: Api, client: Client) -> None:
    results: list[str] = []
    authorisation = Authorisation(client, 10, on_result=results.append)
    api.status = 500
    with pytest.raises(AuthorisationUnavailable):
        await authorisation.allows(ALICE, "science")
    api.status = 201
    assert await authorisation.allows(ALICE, "science")
    assert results == ["error", "allowed"]


def reviewer_of(client: Client, *, allow_unanswered: bool = False) -> Reviewer:
    members = GroupMembers(client, clock=lambda: 0.0)
    return Reviewer(client, lambda: FACTS, AdmissionPolicy(), Authorisation(client, 10), members, allow_unanswered)


GROUP = {"spec": {"queue": "science"}}

FAILURES = {
    "allowed": (True, 201, False, ""),
    "denied": (
        False,
        201,
        False,
        "spec.queue: queue 'science': 'alice' may not use it; name another queue, or request the verb use",
    ),
    "no answer": (True, 500, False, "spec.queue: queue 'science': the access review for 'alice' failed"),
    "no answer, allowed": (True, 500, True, ""),
}


@pytest.mark.parametrize("title", FAILURES)
async def test_queue_use_follows_access_review(api: Api, client: Client, title: str) -> None:
    api.allows, api.status, lenient, message = FAILURES[title]
    reviewer = reviewer_of(client, allow_unanswered=lenient)
    verdict = await reviewer.review(request("PodGroup", GROUP, user=ALICE))
    assert verdict.is_allowed is (not message)
    assert message in verdict.message
    assert bool(verdict.warnings) is lenient


TEMPLATE_SPEC = {"queue": "physics", "tasks": []}
FLOWS = {
    "queue of a template": (200, False, ["physics"], ""),
    "kind that is not served": (404, False, [], ""),
    "failed list": (
        500, False, [], "JobFlow team/sample: spec.flows: the JobTemplates could not be read ("),
    "failed list, lenient": (500, True, [], ""),
}  # fmt: skip


@pytest.mark.parametrize("title", FLOWS)
async def test_user_of_a_flow_needs_access_to_the_queues_of_its_templates(api: Api, client: Client, title: str) -> None:
    api.template_status, lenient, asked, message = FLOWS[title]
    api.templates = [{"metadata": {"name": "etl", "namespace": "team"}, "spec": TEMPLATE_SPEC}]
    flow = request("JobFlow", {"spec": {"flows": [{"name": "etl"}]}}, user=ALICE, group="flow.volcano.sh")
    verdict = await reviewer_of(client, allow_unanswered=lenient).review(flow)
    assert [each["resourceAttributes"]["name"] for each in api.asked] == asked
    assert verdict.is_allowed != bool(message)
    assert verdict.message.startswith(message)
    assert bool(verdict.warnings) == lenient


async def test_queue_is_read_again_before_rejection(api: Api, client: Client) -> None:
    reviewer = reviewer_of(client)
    asked = request("PodGroup", {"spec": {"queue": "fresh"}})
    assert "queue 'fresh' does not exist" in (await reviewer.review(asked)).message
    api.queues["fresh"] = {"metadata": {"name": "fresh"}}
    assert (await reviewer.review(asked)).is_allowed
    api.queues["fresh"]["status"] = {"state": "Closed"}
    assert "queue 'fresh' is Closed" in (await reviewer.review(asked)).message


def member(name: str, priority_class: str, **facts: Any) -> Document:
    document = pod(group=facts.pop("group", "sample"), priorityClassName=priority_class, **facts)
    return {**document, "metadata": {**document["metadata"], "name": name, "namespace": "team"}}


REFUSED = (
    "PodGroup team/sample: spec.queue: pod old of the group has priority class 'high', which queue 'science' does not"
    " allow; delete the pod first, or name another queue"
)
RECREATED: dict[str, tuple[list[Document], Document, User, str]] = {
    "a class that the queue does not allow": ([member("old", "high")], {}, ALICE, REFUSED),
    "behind one that it allows": ([member("first", "low"), member("old", "high")], {}, ALICE, REFUSED),
    "classes that it allows, or is the default": ([member("a", "low"), member("b", "usual")], {}, ALICE, ""),
    "a pod of another group": ([member("old", "high", group="other")], {}, ALICE, ""),
    "a pod of another scheduler": ([member("old", "high", scheduler="other")], {}, ALICE, ""),
    "a queue that allows all": ([member("old", "high")], {"queue": "physics"}, ALICE, ""),
    "a trusted user": ([member("old", "high")], {}, ADMINISTRATOR, ""),
}


@pytest.mark.parametrize("case", RECREATED)
async def test_group_is_not_created_where_the_classes_of_its_pods_are_not_allowed(
    api: Api, client: Client, case: str
) -> None:
    """A user deleted a group and creates it again in another queue, with the pods of the first one."""
    api.pods, spec, user, message = RECREATED[case]
    verdict = await reviewer_of(client).review(request("PodGroup", {"spec": {**GROUP["spec"], **spec}}, user=user))
    assert (verdict.is_allowed, verdict.message if message else "") == (not message, message)


async def test_many_new_groups_of_a_namespace_share_a_list_of_its_pods(api: Api, client: Client) -> None:
    reviewer = reviewer_of(client)
    await asyncio.gather(*(reviewer.review(request("PodGroup", GROUP, user=ALICE)) for _ in range(20)))
    assert api.pod_lists == 1


async def test_group_is_created_if_pods_cannot_be_listed(api: Api, client: Client) -> None:
    """The scheduler disregards classes that the queue does not allow."""
    api.pods, api.pod_status = [member("old", "high")], 500
    assert (await reviewer_of(client).review(request("PodGroup", GROUP, user=ALICE))).is_allowed


# -- HTTPS ------------------------------------------------------------------------------------------------------------


def write_certificate(folder: Path) -> ssl.SSLContext:
    """Write a new certificate; return a context that trusts it."""
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


POLICY = AdmissionPolicy(plugins=(Broken(),))


class Door:
    """A running webhook server, and a client of it."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.trust = write_certificate(folder)
        self.certificate = Certificate(str(folder / "tls.crt"), str(folder / "tls.key"))
        self.metrics = AdmissionMetrics()
        self.problem: str | None = None
        self.reviewer = Reviewer(client, lambda: FACTS, POLICY, Authorisation(client, 10), GroupMembers(client))
        self.server = Server(self.reviewer, self.metrics, concurrency=2, ready=lambda: self.problem)
        self.url = ""

    async def post(self, body: Any, path: str = "/validate", trust: ssl.SSLContext | None = None) -> tuple[int, bytes]:
        connector = aiohttp.TCPConnector(ssl=trust or self.trust)
        timeout = aiohttp.ClientTimeout(total=DEADLINE)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.post(f"{self.url}{path}", data=body) as answer,
        ):
            return answer.status, await answer.read()

    def rejected(self, code: str) -> float:
        return (
            self.metrics.registry.get_sample_value("stromboli_admission_rejected_requests_total", {"code": code}) or 0.0
        )


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


async def test_review_requests_are_answered(door: Door) -> None:
    status, body = await door.post(asked("PodGroup", {"spec": {"queue": "nowhere", "minMember": 1}}))
    response = msgspec.json.decode(body)["response"]
    assert (status, response["uid"], response["allowed"]) == (200, "1", False)
    assert response["status"]["code"] == 422
    assert "queue 'nowhere' does not exist" in response["status"]["message"]
    status, body = await door.post(asked("Pod", pod(scheduler="default-scheduler", group="g")), "/mutate")
    assert msgspec.json.decode(body)["response"]["patchType"] == "JSONPatch"


SECRET = "0123456789abcdef"  # noqa: S105 - of this test


async def test_client_without_secret_path_learns_nothing(door: Door, api: Api, tmp_path: Path) -> None:
    file = tmp_path / "path-secret"
    file.write_text(SECRET)
    callers = PathSecrets(str(file))
    server = Server(door.reviewer, door.metrics, concurrency=2, ready=lambda: "not ready yet", callers=callers)
    address = await server.start(Address("127.0.0.1", 0), door.certificate)
    door.url = f"https://127.0.0.1:{address.port}"
    question = asked("PodGroup", {"spec": {"queue": "science", "minMember": 1}})
    try:
        for path in ("/validate", "/mutate", f"/validate/{SECRET}x", "/validate/", "/elsewhere", "/validate/%ff"):
            assert await door.post(question, path) == (403, b"forbidden\n"), path
        assert (await door.post(question, f"/validate/{SECRET}"))[0] == 503, "API servers learn it"
        file.write_text(f"{SECRET[::-1]}\n{SECRET}\n")
        callers.refresh()
        assert {(await door.post(question, f"/validate/{each}"))[0] for each in (SECRET, SECRET[::-1])} == {503}
        file.write_text("short")
        callers.refresh()
        assert (await door.post(question, f"/validate/{SECRET}"))[0] == 503, "the last valid secrets stay"
    finally:
        await server.stop()
    assert api.asked == []
    assert door.rejected("403") == 6


async def test_unfinished_headers_are_closed(door: Door) -> None:
    listener = Listener(header_seconds=0.2)
    server = Server(door.reviewer, door.metrics, concurrency=2, ready=lambda: None, listener=listener)
    address = await server.start(Address("127.0.0.1", 0), door.certificate)
    try:
        silent, first = await asyncio.open_connection("127.0.0.1", address.port)
        partial, writer = await asyncio.open_connection("127.0.0.1", address.port, ssl=door.trust)
        writer.write(b"POST /validate HTTP/1.1\r\nHost: a\r\n")
        for reader in (silent, partial):
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), DEADLINE) == b""
        first.close()
        writer.close()
    finally:
        await server.stop()


async def test_half_open_connections_are_capped_and_others_are_served(door: Door) -> None:
    """The oldest half-open connections are closed; without a limit each would cost a quarter of a MiB."""
    listener = Listener(unheard=8, connections=20)
    server = Server(door.reviewer, door.metrics, concurrency=2, ready=lambda: None, listener=listener)
    address = await server.start(Address("127.0.0.1", 0), door.certificate)
    door.url = f"https://127.0.0.1:{address.port}"
    opened = [await asyncio.open_connection("127.0.0.1", address.port) for _ in range(40)]
    try:
        for reader, _ in opened[:32]:
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), DEADLINE) == b""
        assert not [reader for reader, _ in opened[32:] if reader.at_eof()]
        assert (await door.post(asked("PodGroup", {})))[0] == 200
    finally:
        for _, writer in opened:
            writer.close()
        await server.stop()


async def _drops(number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b" " * 65536


async def _trickle() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


TOO_MUCH: dict[str, tuple[Callable[[], object], int, bytes]] = {
    "too large": (lambda: io.BytesIO(b" " * (MAX_BODY_SIZE + 1)), 413, b"a review has at most 3145728 bytes"),
    "too large, without content length": (lambda: _drops(MAX_BODY_SIZE // 65536 + 1), 413, b"a review has at most"),
    "too slow": (_trickle, 408, b"the request took longer than 0.05 s to arrive"),
    "no review": (lambda: b"{}", 400, b"expected admission.k8s.io/v1 AdmissionReview"),
}


@pytest.mark.parametrize("title", TOO_MUCH)
async def test_unanswerable_request_is_rejected_with_status_code(door: Door, title: str) -> None:
    make, code, message = TOO_MUCH[title]
    door.server._body_seconds = 0.05 if code == 408 else DEADLINE
    status, body = await door.post(make())
    door.server._body_seconds = DEADLINE
    assert (status, message in body) == (code, True), body
    assert door.rejected(str(code)) == 1
    assert (await door.post(asked("PodGroup", {})))[0] == 200, "other requests are answered"


async def test_request_before_initial_lists_gets_503(door: Door) -> None:
    door.problem = "not listed yet: queues"
    assert await door.post(asked("PodGroup", {})) == (503, b"not ready: not listed yet: queues\n")


async def test_exception_in_rule_gets_500(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    """The API server then applies the failure policy."""
    assert await door.post(asked("Pod", pod(annotations={"break": "yes"}))) == (
        500,
        b"internal error; see the log\n",
    )
    assert "KeyError: 'share'" in caplog.text
    assert (await door.post(asked("PodGroup", {})))[0] == 200


async def test_concurrent_requests_are_limited(door: Door, api: Api) -> None:
    api.gate.clear()
    questions = [
        asyncio.create_task(door.post(asked("PodGroup", {"metadata": {"name": f"g{n}"}, "spec": {"queue": name}})))
        for n, name in enumerate(("science", "physics", "root"))
    ]
    async with asyncio.timeout(DEADLINE):
        while len(api.asked) < 2 or door.server._waiting < 3:
            await asyncio.sleep(0.01)
    assert len(api.asked) == 2, "the third request waits"
    api.gate.set()
    assert [status for status, _ in await asyncio.gather(*questions)] == [200] * 3
    assert len(api.asked) == 3


async def test_new_certificate_is_loaded_and_broken_one_ignored(door: Door, tmp_path: Path) -> None:
    body = asked("PodGroup", {})
    (tmp_path / "tls.key").write_text("nothing")
    door.certificate.refresh()
    assert (await door.post(body))[0] == 200, "the last valid certificate stays"
    old, new = door.trust, write_certificate(tmp_path)
    door.certificate.refresh()
    assert (await door.post(body, trust=new))[0] == 200
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await door.post(body, trust=old)


def write_client(folder: Path) -> None:
    """Write a self-signed client certificate."""
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
def refused_by(message: str) -> Iterator[None]:
    with pytest.raises(InvalidCertificate) as refused:
        yield
    assert message in str(refused.value)


def test_unusable_certificate_files_are_named(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    certificate, key, nothing = (str(tmp_path / name) for name in ("tls.crt", "tls.key", "missing"))
    with refused_by(f'the path "{nothing}" does not exist'):
        Certificate(certificate, nothing)
    with refused_by("tls.crt: unusable"):
        Certificate(key, certificate)
    with refused_by(f'the path "{nothing}" does not exist'):
        Certificate(certificate, key, nothing)


async def test_client_without_certificate_is_rejected(door: Door, tmp_path: Path) -> None:
    write_client(tmp_path)
    certificate, key, clients = (str(tmp_path / name) for name in ("tls.crt", "tls.key", "clients.crt"))
    strict = Certificate(certificate, key, clients)
    server = Server(door.reviewer, door.metrics, concurrency=2, ready=lambda: None)
    address = await server.start(Address("127.0.0.1", 0), strict)
    door.url = f"https://127.0.0.1:{address.port}"
    try:
        with pytest.raises(aiohttp.ClientError):
            await door.post(asked("PodGroup", {}))
        door.trust.load_cert_chain(tmp_path / "client.pem")
        assert (await door.post(asked("PodGroup", {})))[0] == 200
    finally:
        await server.stop()
