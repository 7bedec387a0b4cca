"""Extenders take part in decisions, within their time limits."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.core.actions import ACTIONS
from stromboli.core.config.configuration import ConfigurationError, parse_configuration
from stromboli.core.config.external_services import ExternalServices
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.external.extenders import HttpExtenders
from stromboli.planner.plan import SchedulingPlan, make_plan
from tests.testing.cases.case import SCHEDULER_NAMES, Case, configuration, flattened, objects, plugin
from tests.testing.kube.certificate_authority import Authority
from tests.testing.manifests.builders import gang, gang_of, node, nodes, pod, priority_class, queue, running
from tests.unit.external.http_service import (
    Handler,
    HttpService,
    disconnects,
    dripping,
    endless,
    http_service,
    never_responds,
    responds,
    responds_text,
)

REGISTRY = Registry(PLUGINS, ACTIONS)
VERBS = {
    "predicate": "predicateVerb", "prioritize": "prioritizeVerb", "preempt": "preemptableVerb",
    "reclaim": "reclaimableVerb", "overused": "queueOverusedVerb", "enqueueable": "jobEnqueueableVerb",
    "enqueued": "jobEnqueuedVerb", "ready": "jobReadyVerb", "allocate": "allocateFuncVerb",
    "deallocate": "deallocateFuncVerb", "open": "onSessionOpenVerb", "close": "onSessionCloseVerb",
}  # fmt: skip


@pytest.fixture
def extenders() -> Iterator[HttpExtenders]:
    reached = HttpExtenders()
    yield reached
    reached.close()


@pytest.fixture
def service() -> Iterator[HttpService]:
    with http_service() as service:
        yield service


def conf(
    address: str, verbs: str, arguments: Mapping[str, object] | None = None, *, plugins: Any = ("gang", "predicates"),
    actions: str = "enqueue, allocate, backfill",
) -> str:  # fmt: skip
    """An extender with these verbs."""
    named = {f"extender.{VERBS[verb]}": verb for verb in verbs.split()}
    arguments = {"extender.urlPrefix": address, "extender.httpTimeout": "30s", **named, **(arguments or {})}
    return configuration(*plugins, plugin("extender", arguments), actions=actions)


class PlanRun:
    """Run a plan of a scenario."""

    def __init__(self, text: str, *world: Any, outside: ExternalServices | None, cycles: int = 1) -> None:
        manifests = list(flattened(world))
        program = Program(parse_configuration(text, REGISTRY), REGISTRY, outside)
        self.plan: SchedulingPlan = make_plan(
            objects(manifests), program, cycles=cycles, scheduler_names=SCHEDULER_NAMES
        )
        self.binds = _letters(self.plan, manifests)
        self.evicts = sorted(key.partition("/")[2] for key in self.plan.evictions)
        self.warnings = self.plan.warnings

    def reasons(self, name: str) -> str:
        return " ".join(self.plan.groups[f"default/{name}"].reasons)


def _letters(plan: SchedulingPlan, manifests: Any) -> str:
    case = Case("", binds="")
    case.manifests = manifests
    return case.binds(plan)


TWO = nodes(4, 2)


# -- nodes ------------------------------------------------------------------------------------------------------------


def test_filtered_nodes_are_not_used(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/predicate"] = responds({"refused": {"a": "it is mine", "nowhere": "no"}})
    run = PlanRun(conf(service.address, "predicate"), TWO, gang(3), outside=extenders)
    assert run.binds == "bbb"
    [asked] = service.asked("/predicate")
    assert asked.method == "POST"
    assert asked.body["nodes"] == ["a", "b"]
    assert asked.body["task"] == {"role": "", "request": {"cpu": "1", "pods": "1"}, "nodeSelector": {}}


def test_filter_reasons_are_reported_on_pending_job(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/predicate"] = responds({"refused": {"a": "too\nhot", "b": "too\nhot", "c": ""}})
    run = PlanRun(conf(service.address, "predicate"), nodes(4, 3), gang(1), outside=extenders)
    assert run.binds == "-"
    message = "2 refused by the extender: too hot, 1 refused by the extender: no reason reported"
    assert run.reasons("gang") == f"0/3 nodes are available: {message}."


def test_extender_is_called_once_per_task_class(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers = {"/predicate": responds({}), "/prioritize": responds({"nodeScore": {}})}
    world = [TWO, gang(3, name="one"), gang(2, name="two"), gang(1, cpu=2, name="three")]
    PlanRun(conf(service.address, "predicate prioritize"), *world, outside=extenders)
    assert (len(service.asked("/predicate")), len(service.asked("/prioritize"))) == (2, 2)


def test_prioritize_scores_are_added(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/prioritize"] = responds({"nodeScore": {"b": 5, "x": 99}})
    text = conf(service.address, "prioritize")
    assert PlanRun(text, TWO, gang(2), outside=extenders).binds == "bb"
    with_binpack = conf(service.address, "prioritize", plugins=("gang", "predicates", "binpack"))
    assert PlanRun(with_binpack, TWO, running("a"), gang(1), outside=extenders).binds == "a"


def test_extender_is_called_only_for_managed_resources(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/predicate"] = responds({"refused": {"a": "no"}})
    text = conf(service.address, "predicate", {"extender.managedResources": ["nvidia.com/gpu"]})
    world = [nodes(4, 2, gpu=1), gang(1, name="plain"), gang(1, gpu=1, name="shaded")]
    assert PlanRun(text, *world, outside=extenders).binds == "ab"
    assert [asked.body["task"]["request"]["nvidia.com/gpu"] for asked in service.received] == ["1"]


def test_enabled_flags_apply_to_extender(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/predicate"] = responds({"refused": {"a": "no", "b": "no"}})
    text = conf(service.address, "predicate").replace(
        "- name: extender", "- name: extender\n    enablePredicate: false"
    )
    assert PlanRun(text, TWO, gang(1), outside=extenders).binds == "a"
    assert service.received == []


# -- jobs and queues --------------------------------------------------------------------------------------------------

ENQUEUEABLE = [("it rejects", -1, "-"), ("it abstains", 0, "-"), ("it permits", 1, "a")]


@pytest.mark.parametrize(("status", "binds"), [row[1:] for row in ENQUEUEABLE], ids=[row[0] for row in ENQUEUEABLE])
def test_job_enqueueable_decides_admission(
    service: HttpService, extenders: HttpExtenders, status: int, binds: str
) -> None:
    """In a tier above `overcommit`, which would not admit the job."""
    service.handlers = {"/enqueueable": responds({"status": status}), "/enqueued": responds({})}
    named = {"extender.urlPrefix": service.address, "extender.jobEnqueueableVerb": "enqueueable",
             "extender.jobEnqueuedVerb": "enqueued"}  # fmt: skip
    text = configuration([plugin("extender", named)], ["gang", "predicates", "overcommit"])
    run = PlanRun(text, nodes(4, 1), gang(1, resources={"cpu": 99}), outside=extenders)
    assert run.binds == binds
    assert service.asked("/enqueueable")[0].body["job"]["minResources"] == {"cpu": "99"}
    assert len(service.asked("/enqueued")) == (status > 0)
    assert ("the extender rejected the job" in run.reasons("gang")) is (status < 0)


def test_job_starts_when_job_ready_agrees(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/ready"] = responds({"status": False})
    assert PlanRun(conf(service.address, "ready"), TWO, gang(2), outside=extenders).binds == "--"
    service.handlers["/ready"] = responds({"status": True})
    assert PlanRun(conf(service.address, "ready"), TWO, gang(2), outside=extenders).binds == "aa"


def test_overused_queue_is_skipped(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/overused"] = lambda exchange: responds(
        {"overused": exchange.http_service.received[-1].body["queue"]["name"] == "full"}
    )(exchange)
    world = [TWO, queue("full"), gang(1, name="one", queue="full"), gang(1, name="two")]
    run = PlanRun(conf(service.address, "overused"), *world, outside=extenders)
    assert run.binds == "-a"
    assert "the extender reports queue full as overused" in run.reasons("one")


# -- victims ----------------------------------------------------------------------------------------------------------

HIGH = priority_class("high", 9)
VICTIMS = [
    ("it names one", {"status": 1, "victims": ["pod-default-old-task-1"]}, ["old-task-1"]),
    ("no victims", {"status": 1, "victims": []}, []),
    ("it objects", {"status": -1, "victims": ["pod-default-old-task-1"]}, []),
    ("it abstains, and others decide", {"status": 0}, ["old-task-1"]),
    ("unknown victim", {"status": 1, "victims": ["unknown"]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "evicts"), [row[1:] for row in VICTIMS], ids=[row[0] for row in VICTIMS])
@pytest.mark.parametrize("verb", ["preempt", "reclaim"])
def test_preemptable_selects_victims(
    service: HttpService, extenders: HttpExtenders, verb: str, answer: dict[str, Any], evicts: list[str]
) -> None:
    service.handlers[f"/{verb}"] = responds(answer)
    text = conf(service.address, verb, actions=f"allocate, {verb}")
    preemptor = gang(1, name="claims", priority="high", **({"queue": "other"} if verb == "reclaim" else {}))
    run = PlanRun(text, nodes(2, 1), HIGH, queue("other"), running("aa"), preemptor, outside=extenders)
    assert run.evicts == evicts
    asked = service.asked(f"/{verb}")[0].body
    assert asked["evictor"]["name"] == "claims-task-0"
    assert {each["name"] for each in asked["evictees"]} <= {"old-task-0", "old-task-1"}


# -- what happened ----------------------------------------------------------------------------------------------------


def test_allocations_are_reported(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers = {"/allocate": responds({}), "/deallocate": responds({})}
    run = PlanRun(conf(service.address, "allocate deallocate"), TWO, gang(2), outside=extenders)
    assert run.binds == "aa"
    placed = [(task["name"], place) for asked in service.asked("/allocate")
              for task, place in zip(asked.body["tasks"], asked.body["nodes"], strict=True)]  # fmt: skip
    assert sorted(placed) == [("gang-task-0", "a"), ("gang-task-1", "a")]
    assert service.asked("/deallocate") == []


def test_deallocations_are_reported(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers = {"/allocate": responds({}), "/deallocate": responds({})}
    run = PlanRun(
        conf(service.address, "allocate deallocate"), TWO, gang_of(pod(), pod(99), minimum=2), outside=extenders
    )
    assert run.binds == "--"
    assert len(service.asked("/allocate")) == len(service.asked("/deallocate")) == 1


def test_rejected_allocation_is_undone(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/allocate"] = responds({"errorMessage": "no licence"})
    run = PlanRun(conf(service.address, "allocate"), TWO, gang(1), outside=extenders)
    assert run.binds == "-"
    assert "no licence" in run.reasons("gang")


def test_session_open_and_close_are_reported(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers = {"/open": responds_text(b""), "/close": responds({})}
    world = [node("a", 4, gpu=2, labels={"disk": "ssd"}), running("a"), gang(1)]
    PlanRun(conf(service.address, "open close"), *world, outside=extenders, cycles=2)
    assert [received.path for received in service.received] == ["/open", "/close", "/open", "/close"]
    opened = service.asked("/open")[0].body
    [run] = opened["nodes"]
    assert (run["name"], run["labels"], run["idle"]["cpu"]) == ("a", {"disk": "ssd"}, "3")
    assert [job["name"] for job in opened["jobs"]] == ["gang"]
    assert {each["name"] for each in opened["queues"]} >= {"default", "root"}
    assert service.asked("/close")[0].body == {"session": opened["session"]}


# -- no answer --------------------------------------------------------------------------------------------------------

MUTE: list[tuple[str, Handler, str]] = [
    ("an error of the server", responds({"message": "broken"}, 500), "500: broken"),
    ("an address that is not there", responds({}, 404), "404"),
    ("no JSON", responds_text(b"<html>"), "the response is not JSON"),
    ("half of it", responds_text(b'{"refused": '), "the response is not JSON"),
    ("no object", responds([1]), "the response is not a JSON object"),
    ("deep nesting", responds_text(b"[" * 100_000), "the response is not JSON"),
    ("another type", responds({"refused": ["a"]}), "expected reasons by node in 'refused'"),
    ("its own error", responds({"errorMessage": "I am\x1b[31m lost"}), "I am [31m lost"),
    ("closed connection", disconnects, "predicate"),
    ("a flood", endless, "larger than 1 MiB"),
    ("a pointer elsewhere", responds_text(b"", 307, Location="http://127.0.0.1:1/"), "307"),
]  # fmt: skip


@pytest.mark.parametrize(("handler", "message"), [row[1:] for row in MUTE], ids=[row[0] for row in MUTE])
def test_failed_extender_blocks_allocation(
    service: HttpService, extenders: HttpExtenders, handler: Handler, message: str
) -> None:
    service.handlers["/predicate"] = handler
    run = PlanRun(conf(service.address, "predicate"), TWO, gang(1), outside=extenders)
    assert run.binds == "-"
    assert "2 extender did not answer: " in run.reasons("gang")
    assert message in run.reasons("gang")


@pytest.mark.parametrize("handler", [row[1] for row in MUTE], ids=[row[0] for row in MUTE])
def test_ignorable_extender_failure_is_ignored(
    service: HttpService, extenders: HttpExtenders, handler: Handler
) -> None:
    service.handlers["/predicate"] = handler
    run = PlanRun(conf(service.address, "predicate", {"extender.ignorable": True}), TWO, gang(1), outside=extenders)
    assert run.binds == "a"
    [warning] = run.warnings
    assert warning.startswith("the extender did not answer and is ignored: ")


WRONG_TYPES = [
    ("prioritize", {"nodeScore": {"a": "good"}}, "expected a number as the score of node 'a'"),
    ("prioritize", {"nodeScore": [1]}, "expected scores by node in 'nodeScore'"),
    ("prioritize", {"nodeScore": {}, "errorMessage": "no idea"}, "no idea"),
    ("ready", {"status": "yes"}, "expected true or false in 'status'"),
    ("enqueueable", {"status": "yes"}, "expected a whole number in 'status'"),
    ("overused", {}, "expected true or false in 'overused'"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "answer", "message"), WRONG_TYPES, ids=[f"{row[0]}: {row[2]}" for row in WRONG_TYPES])
@pytest.mark.parametrize("ignorable", [True, False])
def test_response_of_wrong_type_is_a_failure(
    service: HttpService, extenders: HttpExtenders, verb: str, answer: Any, message: str, ignorable: bool
) -> None:
    service.handlers[f"/{verb}"] = responds(answer)
    text = conf(service.address, verb, {"extender.ignorable": ignorable})
    run = PlanRun(text, TWO, gang(1, resources={"cpu": 1}), outside=extenders)
    assert run.binds == ("a" if ignorable else "-")
    assert message in (" ".join(run.warnings) if ignorable else run.reasons("gang"))


@pytest.mark.parametrize("handler", [never_responds, dripping])
def test_slow_extender_costs_one_timeout_per_cycle(
    service: HttpService, extenders: HttpExtenders, handler: Handler
) -> None:
    service.handlers["/predicate"] = handler
    text = conf(service.address, "predicate", {"extender.httpTimeout": "200ms"})
    world = [TWO, gang(1, name="one"), gang(1, cpu=2, name="two"), gang(1, cpu=3, name="three")]
    run = PlanRun(text, *world, outside=extenders)
    assert run.binds == "---"
    assert len(service.received) == 1
    assert "not called again in this cycle" in run.reasons("three")


def test_next_cycle_calls_extender_again(service: HttpService, extenders: HttpExtenders) -> None:
    def at_first_silent(exchange: Any) -> None:
        (disconnects if len(service.received) == 1 else responds({}))(exchange)

    service.handlers["/predicate"] = at_first_silent
    assert PlanRun(conf(service.address, "predicate"), TWO, gang(1), outside=extenders, cycles=2).binds == "a"


def test_error_of_one_class_does_not_affect_another(service: HttpService, extenders: HttpExtenders) -> None:
    def strict(exchange: Any) -> None:
        large = service.received[-1].body["task"]["request"]["cpu"] == "2"
        responds({}, 500 if large else 200)(exchange)

    service.handlers["/predicate"] = strict
    world = [TWO, gang(1, cpu=2, name="one"), gang(1, name="two")]
    assert PlanRun(conf(service.address, "predicate"), *world, outside=extenders).binds == "-a"


def test_total_response_time_per_cycle_is_limited(service: HttpService) -> None:
    """With a clock on which every response takes four of the ten seconds of a cycle."""
    ticks = iter(range(0, 1000, 4))
    slow = HttpExtenders(clock=lambda: float(next(ticks)))
    service.handlers["/predicate"] = responds({})
    text = conf(service.address, "predicate", {"extender.httpTimeout": "1s"})
    world = [nodes(20, 1), *(gang(1, cpu=cpu, name=f"job-{cpu}") for cpu in (1, 2, 3, 4))]
    run = PlanRun(text, *world, outside=slow)
    slow.close()
    assert len(service.received) == 3
    assert "its responses exceeded the time limit of a cycle" in run.reasons("job-4")


def test_unreachable_extender_is_a_failure(extenders: HttpExtenders) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound, so that no other process gets the port, and not listening
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        run = PlanRun(conf(address, "predicate"), TWO, gang(1), outside=extenders)
    assert run.binds == "-"
    assert "Connection refused" in run.reasons("gang")


def test_eviction_without_extender_response_is_not_made(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/preempt"] = responds({}, 503)
    text = conf(service.address, "preempt", plugins=("priority", "gang", "predicates"), actions="allocate, preempt")
    run = PlanRun(text, nodes(2, 1), HIGH, running("aa"), gang(1, name="claims", priority="high"), outside=extenders)
    assert (run.binds, run.evicts) == ("-", [])
    assert "503" in run.reasons("claims")


def test_redirect_is_not_followed(service: HttpService, extenders: HttpExtenders) -> None:
    with http_service() as other:
        other.handlers["/predicate"] = responds({})
        service.handlers["/predicate"] = responds_text(b"", 307, Location=f"{other.address}/predicate")
        assert PlanRun(conf(service.address, "predicate"), TWO, gang(1), outside=extenders).binds == "-"
        assert other.received == []


# -- who is asked at all ----------------------------------------------------------------------------------------------


def test_plan_does_not_call_extender_by_default(service: HttpService) -> None:
    service.handlers["/predicate"] = responds({"refused": {"a": "no", "b": "no"}})
    run = PlanRun(conf(service.address, "predicate open allocate ready"), TWO, gang(1), outside=None)
    assert run.binds == "a"
    assert run.warnings == ["the extender is not called here; the plan does not include its decisions"]
    assert service.received == []


def test_extender_without_address_or_verbs_is_inactive(service: HttpService, extenders: HttpExtenders) -> None:
    assert PlanRun(conf("", "predicate ready"), TWO, gang(1), outside=extenders).binds == "a"
    assert PlanRun(conf(service.address, ""), TWO, gang(1), outside=extenders).warnings == []
    assert service.received == []


def test_path_of_address_is_kept(service: HttpService, extenders: HttpExtenders) -> None:
    service.handlers["/v1/hooks/predicate"] = responds({})
    assert PlanRun(conf(f"{service.address}/v1/hooks/", "predicate"), TWO, gang(1), outside=extenders).binds == "a"


WRONG = [
    ({"extender.urlPrefix": "extender:8080"}, "'extender:8080' is no address"),
    ({"extender.urlPrefix": "ftp://extender"}, "'ftp://extender' is no address"),
    ({"extender.httpTimeout": "fast"}, "'fast' is not a duration"),
    ({"extender.predicateVerb": "a?b=c"}, "'a?b=c' is not a valid verb"),
    ({"extender.predicateVerb": "../admin"}, "'../admin' is not a valid verb"),
    ({"extender.ignorable": "perhaps"}, "expected true or false"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[message for _, message in WRONG])
def test_invalid_arguments_are_rejected(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_configuration(configuration(plugin("extender", arguments)), REGISTRY)
    assert message in str(raised.value)


# -- encryption -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


ENCRYPTED = [
    ("mutual TLS", ("caFile", "certFile", "keyFile"), "a"),
    ("we do not", ("caFile",), "-"),
    ("unknown server certificate", ("certFile", "keyFile"), "-"),
]


@pytest.mark.parametrize(("files", "binds"), [row[1:] for row in ENCRYPTED], ids=[row[0] for row in ENCRYPTED])
def test_mutual_tls_is_supported(
    authority: Authority, extenders: HttpExtenders, tmp_path: Path, files: tuple[str, ...], binds: str
) -> None:
    ours = authority.issue("scheduler")
    for name, content in (("caFile", authority.certificate), ("certFile", ours.certificate), ("keyFile", ours.key)):
        (tmp_path / name).write_bytes(content)
    context = authority.server_context(authority.issue("localhost", "127.0.0.1"), str(tmp_path))
    context.verify_mode = ssl.CERT_REQUIRED
    with http_service(context) as service:
        service.handlers["/predicate"] = responds({})
        arguments = {f"extender.{name}": str(tmp_path / name) for name in files}
        run = PlanRun(conf(service.address, "predicate", arguments), nodes(4, 1), gang(1), outside=extenders)
    assert run.binds == binds


def test_missing_file_is_named(extenders: HttpExtenders) -> None:
    text = conf("https://127.0.0.1:1", "predicate", {"extender.caFile": "/nowhere/ca.pem"})
    run = PlanRun(text, nodes(4, 1), gang(1), outside=extenders)
    assert "/nowhere/ca.pem: No such file or directory" in run.reasons("gang")


# -- on the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "node_of_pod"), [((), "a"), (("--ask-extenders",), "b")])
@pytest.mark.parametrize("command", ["plan", "explain"])
def test_plan_calls_extender_if_requested(
    service: HttpService, tmp_path: Path, command: str, options: tuple[str, ...], node_of_pod: str
) -> None:
    service.handlers["/predicate"] = responds({"refused": {"a": "not this one"}})
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(flattened([TWO, gang(1)])))
    (tmp_path / "conf").write_text(conf(service.address, "predicate"))
    arguments = [command, "-f", str(tmp_path / "cluster.yaml"), "--conf", str(tmp_path / "conf"), *options]
    done = CliRunner().invoke(main, [*arguments, *(["gang"] if command == "explain" else [])])
    assert done.exit_code == 0, done.output
    assert f"{node_of_pod} ×1" in done.output
    assert ("the extender is not called here" in done.output) is not bool(options)
    assert bool(service.received) is bool(options)
