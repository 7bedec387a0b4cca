"""A service outside has a say in decisions, as long as it answers."""

from __future__ import annotations

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
    Manner,
    Stranger,
    dripping,
    endless,
    hangs_up,
    says,
    says_text,
    silent,
    stranger,
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
def person() -> Iterator[Stranger]:
    with stranger() as somebody:
        yield somebody


def conf(
    address: str, verbs: str, given: Mapping[str, object] | None = None, *, beside: Any = ("gang", "predicates"),
    actions: str = "enqueue, allocate, backfill",
) -> str:  # fmt: skip
    """An extender that has these verbs, by the names that they have here."""
    named = {f"extender.{VERBS[verb]}": verb for verb in verbs.split()}
    arguments = {"extender.urlPrefix": address, "extender.httpTimeout": "30s", **named, **(given or {})}
    return configuration(*beside, plugin("extender", arguments), actions=actions)


class Told:
    """A plan, in the words of scenarios."""

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
    story = Case("", binds="")
    story.manifests = manifests
    return story.binds(plan)


TWO = nodes(4, 2)


# -- nodes ------------------------------------------------------------------------------------------------------------


def test_filtered_nodes_are_not_used(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/predicate"] = says({"refused": {"a": "it is mine", "nowhere": "no"}})
    told = Told(conf(person.address, "predicate"), TWO, gang(3), outside=extenders)
    assert told.binds == "bbb"
    [asked] = person.asked("/predicate")
    assert asked.method == "POST"
    assert asked.body["nodes"] == ["a", "b"]
    assert asked.body["task"] == {"role": "", "request": {"cpu": "1", "pods": "1"}, "nodeSelector": {}}


def test_filter_reasons_are_reported_on_pending_job(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/predicate"] = says({"refused": {"a": "too\nhot", "b": "too\nhot", "c": ""}})
    told = Told(conf(person.address, "predicate"), nodes(4, 3), gang(1), outside=extenders)
    assert told.binds == "-"
    words = "2 refused by the extender: too hot, 1 refused by the extender: it does not say why"
    assert told.reasons("gang") == f"0/3 nodes are available: {words}."


def test_extender_is_called_once_per_task_class(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners = {"/predicate": says({}), "/prioritize": says({"nodeScore": {}})}
    world = [TWO, gang(3, name="one"), gang(2, name="two"), gang(1, cpu=2, name="three")]
    Told(conf(person.address, "predicate prioritize"), *world, outside=extenders)
    assert (len(person.asked("/predicate")), len(person.asked("/prioritize"))) == (2, 2)


def test_prioritize_scores_are_added(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/prioritize"] = says({"nodeScore": {"b": 5, "x": 99}})
    text = conf(person.address, "prioritize")
    assert Told(text, TWO, gang(2), outside=extenders).binds == "bb"
    with_binpack = conf(person.address, "prioritize", beside=("gang", "predicates", "binpack"))
    assert Told(with_binpack, TWO, running("a"), gang(1), outside=extenders).binds == "a"


def test_extender_is_called_only_for_managed_resources(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/predicate"] = says({"refused": {"a": "no"}})
    text = conf(person.address, "predicate", {"extender.managedResources": ["nvidia.com/gpu"]})
    world = [nodes(4, 2, gpu=1), gang(1, name="plain"), gang(1, gpu=1, name="shaded")]
    assert Told(text, *world, outside=extenders).binds == "ab"
    assert [asked.body["task"]["request"]["nvidia.com/gpu"] for asked in person.heard] == ["1"]


def test_enabled_flags_apply_to_extender(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/predicate"] = says({"refused": {"a": "no", "b": "no"}})
    text = conf(person.address, "predicate").replace("- name: extender", "- name: extender\n    enablePredicate: false")
    assert Told(text, TWO, gang(1), outside=extenders).binds == "a"
    assert person.heard == []


# -- jobs and queues --------------------------------------------------------------------------------------------------

ENQUEUEABLE = [("it rejects", -1, "-"), ("it abstains", 0, "-"), ("it permits", 1, "a")]


@pytest.mark.parametrize(("status", "binds"), [row[1:] for row in ENQUEUEABLE], ids=[row[0] for row in ENQUEUEABLE])
def test_job_enqueueable_decides_admission(person: Stranger, extenders: HttpExtenders, status: int, binds: str) -> None:
    """In a tier above `overcommit`, which would not let the job in."""
    person.manners = {"/enqueueable": says({"status": status}), "/enqueued": says({})}
    named = {"extender.urlPrefix": person.address, "extender.jobEnqueueableVerb": "enqueueable",
             "extender.jobEnqueuedVerb": "enqueued"}  # fmt: skip
    text = configuration([plugin("extender", named)], ["gang", "predicates", "overcommit"])
    told = Told(text, nodes(4, 1), gang(1, resources={"cpu": 99}), outside=extenders)
    assert told.binds == binds
    assert person.asked("/enqueueable")[0].body["job"]["minResources"] == {"cpu": "99"}
    assert len(person.asked("/enqueued")) == (status > 0)
    assert ("the extender does not let the job in" in told.reasons("gang")) is (status < 0)


def test_job_starts_when_job_ready_agrees(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/ready"] = says({"status": False})
    assert Told(conf(person.address, "ready"), TWO, gang(2), outside=extenders).binds == "--"
    person.manners["/ready"] = says({"status": True})
    assert Told(conf(person.address, "ready"), TWO, gang(2), outside=extenders).binds == "aa"


def test_overused_queue_is_skipped(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/overused"] = lambda exchange: says(
        {"overused": exchange.stranger.heard[-1].body["queue"]["name"] == "full"}
    )(exchange)
    world = [TWO, queue("full"), gang(1, name="one", queue="full"), gang(1, name="two")]
    told = Told(conf(person.address, "overused"), *world, outside=extenders)
    assert told.binds == "-a"
    assert "the extender says that queue full has had enough" in told.reasons("one")


# -- victims ----------------------------------------------------------------------------------------------------------

HIGH = priority_class("high", 9)
VICTIMS = [
    ("it names one", {"status": 1, "victims": ["pod-default-old-task-1"]}, ["old-task-1"]),
    ("it names nobody", {"status": 1, "victims": []}, []),
    ("it objects", {"status": -1, "victims": ["pod-default-old-task-1"]}, []),
    ("it abstains, and others decide", {"status": 0}, ["old-task-1"]),
    ("it names somebody unknown", {"status": 1, "victims": ["nobody"]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "evicts"), [row[1:] for row in VICTIMS], ids=[row[0] for row in VICTIMS])
@pytest.mark.parametrize("verb", ["preempt", "reclaim"])
def test_preemptable_selects_victims(
    person: Stranger, extenders: HttpExtenders, verb: str, answer: dict[str, Any], evicts: list[str]
) -> None:
    person.manners[f"/{verb}"] = says(answer)
    text = conf(person.address, verb, actions=f"allocate, {verb}")
    preemptor = gang(1, name="claims", priority="high", **({"queue": "other"} if verb == "reclaim" else {}))
    told = Told(text, nodes(2, 1), HIGH, queue("other"), running("aa"), preemptor, outside=extenders)
    assert told.evicts == evicts
    asked = person.asked(f"/{verb}")[0].body
    assert asked["evictor"]["name"] == "claims-task-0"
    assert {each["name"] for each in asked["evictees"]} <= {"old-task-0", "old-task-1"}


# -- what happened ----------------------------------------------------------------------------------------------------


def test_allocations_are_reported(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners = {"/allocate": says({}), "/deallocate": says({})}
    told = Told(conf(person.address, "allocate deallocate"), TWO, gang(2), outside=extenders)
    assert told.binds == "aa"
    placed = [(task["name"], place) for asked in person.asked("/allocate")
              for task, place in zip(asked.body["tasks"], asked.body["nodes"], strict=True)]  # fmt: skip
    assert sorted(placed) == [("gang-task-0", "a"), ("gang-task-1", "a")]
    assert person.asked("/deallocate") == []


def test_deallocations_are_reported(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners = {"/allocate": says({}), "/deallocate": says({})}
    told = Told(conf(person.address, "allocate deallocate"), TWO, gang_of(pod(), pod(99), minimum=2), outside=extenders)
    assert told.binds == "--"
    assert len(person.asked("/allocate")) == len(person.asked("/deallocate")) == 1


def test_rejected_allocation_is_undone(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/allocate"] = says({"errorMessage": "no licence"})
    told = Told(conf(person.address, "allocate"), TWO, gang(1), outside=extenders)
    assert told.binds == "-"
    assert "no licence" in told.reasons("gang")


def test_session_open_and_close_are_reported(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners = {"/open": says_text(b""), "/close": says({})}
    world = [node("a", 4, gpu=2, labels={"disk": "ssd"}), running("a"), gang(1)]
    Told(conf(person.address, "open close"), *world, outside=extenders, cycles=2)
    assert [heard.path for heard in person.heard] == ["/open", "/close", "/open", "/close"]
    opened = person.asked("/open")[0].body
    [told] = opened["nodes"]
    assert (told["name"], told["labels"], told["idle"]["cpu"]) == ("a", {"disk": "ssd"}, "3")
    assert [job["name"] for job in opened["jobs"]] == ["gang"]
    assert {each["name"] for each in opened["queues"]} >= {"default", "root"}
    assert person.asked("/close")[0].body == {"session": opened["session"]}


# -- no answer --------------------------------------------------------------------------------------------------------

MUTE: list[tuple[str, Manner, str]] = [
    ("an error of the server", says({"message": "broken"}, 500), "500: broken"),
    ("an address that is not there", says({}, 404), "404"),
    ("no JSON", says_text(b"<html>"), "the response is not JSON"),
    ("half of it", says_text(b'{"refused": '), "the response is not JSON"),
    ("no object", says([1]), "the response is not a JSON object"),
    ("deep nesting", says_text(b"[" * 100_000), "the response is not JSON"),
    ("another type", says({"refused": ["a"]}), "expected reasons by node in 'refused'"),
    ("its own error", says({"errorMessage": "I am\x1b[31m lost"}), "I am [31m lost"),
    ("somebody who hangs up", hangs_up, "predicate"),
    ("a flood", endless, "larger than 1 MiB"),
    ("a pointer elsewhere", says_text(b"", 307, Location="http://127.0.0.1:1/"), "307"),
]  # fmt: skip


@pytest.mark.parametrize(("manner", "words"), [row[1:] for row in MUTE], ids=[row[0] for row in MUTE])
def test_failed_extender_blocks_allocation(
    person: Stranger, extenders: HttpExtenders, manner: Manner, words: str
) -> None:
    person.manners["/predicate"] = manner
    told = Told(conf(person.address, "predicate"), TWO, gang(1), outside=extenders)
    assert told.binds == "-"
    assert "2 extender did not answer: " in told.reasons("gang")
    assert words in told.reasons("gang")


@pytest.mark.parametrize("manner", [row[1] for row in MUTE], ids=[row[0] for row in MUTE])
def test_ignorable_extender_failure_is_ignored(person: Stranger, extenders: HttpExtenders, manner: Manner) -> None:
    person.manners["/predicate"] = manner
    told = Told(conf(person.address, "predicate", {"extender.ignorable": True}), TWO, gang(1), outside=extenders)
    assert told.binds == "a"
    [warning] = told.warnings
    assert warning.startswith("the extender did not answer and is ignored: ")


WRONG_TYPES = [
    ("prioritize", {"nodeScore": {"a": "good"}}, "expected a number as the score of node 'a'"),
    ("prioritize", {"nodeScore": [1]}, "expected scores by node in 'nodeScore'"),
    ("prioritize", {"nodeScore": {}, "errorMessage": "no idea"}, "no idea"),
    ("ready", {"status": "yes"}, "expected true or false in 'status'"),
    ("enqueueable", {"status": "yes"}, "expected a whole number in 'status'"),
    ("overused", {}, "expected true or false in 'overused'"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "answer", "words"), WRONG_TYPES, ids=[f"{row[0]}: {row[2]}" for row in WRONG_TYPES])
@pytest.mark.parametrize("ignorable", [True, False])
def test_response_of_wrong_type_is_a_failure(
    person: Stranger, extenders: HttpExtenders, verb: str, answer: Any, words: str, ignorable: bool
) -> None:
    person.manners[f"/{verb}"] = says(answer)
    text = conf(person.address, verb, {"extender.ignorable": ignorable})
    told = Told(text, TWO, gang(1, resources={"cpu": 1}), outside=extenders)
    assert told.binds == ("a" if ignorable else "-")
    assert words in (" ".join(told.warnings) if ignorable else told.reasons("gang"))


@pytest.mark.parametrize("manner", [silent, dripping])
def test_slow_extender_costs_one_timeout_per_cycle(person: Stranger, extenders: HttpExtenders, manner: Manner) -> None:
    person.manners["/predicate"] = manner
    text = conf(person.address, "predicate", {"extender.httpTimeout": "200ms"})
    world = [TWO, gang(1, name="one"), gang(1, cpu=2, name="two"), gang(1, cpu=3, name="three")]
    told = Told(text, *world, outside=extenders)
    assert told.binds == "---"
    assert len(person.heard) == 1
    assert "not called again in this cycle" in told.reasons("three")


def test_next_cycle_calls_extender_again(person: Stranger, extenders: HttpExtenders) -> None:
    def at_first_silent(exchange: Any) -> None:
        (hangs_up if len(person.heard) == 1 else says({}))(exchange)

    person.manners["/predicate"] = at_first_silent
    assert Told(conf(person.address, "predicate"), TWO, gang(1), outside=extenders, cycles=2).binds == "a"


def test_error_of_one_class_does_not_affect_another(person: Stranger, extenders: HttpExtenders) -> None:
    def strict(exchange: Any) -> None:
        large = person.heard[-1].body["task"]["request"]["cpu"] == "2"
        says({}, 500 if large else 200)(exchange)

    person.manners["/predicate"] = strict
    world = [TWO, gang(1, cpu=2, name="one"), gang(1, name="two")]
    assert Told(conf(person.address, "predicate"), *world, outside=extenders).binds == "-a"


def test_total_response_time_per_cycle_is_limited(person: Stranger) -> None:
    """By a clock on which every answer takes four of the ten seconds that a cycle has for them."""
    ticks = iter(range(0, 1000, 4))
    slow = HttpExtenders(clock=lambda: float(next(ticks)))
    person.manners["/predicate"] = says({})
    text = conf(person.address, "predicate", {"extender.httpTimeout": "1s"})
    world = [nodes(20, 1), *(gang(1, cpu=cpu, name=f"job-{cpu}") for cpu in (1, 2, 3, 4))]
    told = Told(text, *world, outside=slow)
    slow.close()
    assert len(person.heard) == 3
    assert "its responses exceeded the time limit of a cycle" in told.reasons("job-4")


def test_unreachable_extender_is_a_failure(extenders: HttpExtenders) -> None:
    with stranger() as person:
        address = person.address
    told = Told(conf(address, "predicate"), TWO, gang(1), outside=extenders)
    assert told.binds == "-"
    assert "Connection refused" in told.reasons("gang")


def test_eviction_without_extender_response_is_not_made(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/preempt"] = says({}, 503)
    text = conf(person.address, "preempt", beside=("priority", "gang", "predicates"), actions="allocate, preempt")
    told = Told(text, nodes(2, 1), HIGH, running("aa"), gang(1, name="claims", priority="high"), outside=extenders)
    assert (told.binds, told.evicts) == ("-", [])
    assert "503" in told.reasons("claims")


def test_a_redirect_is_not_followed(person: Stranger, extenders: HttpExtenders) -> None:
    with stranger() as other:
        other.manners["/predicate"] = says({})
        person.manners["/predicate"] = says_text(b"", 307, Location=f"{other.address}/predicate")
        assert Told(conf(person.address, "predicate"), TWO, gang(1), outside=extenders).binds == "-"
        assert other.heard == []


# -- who is asked at all ----------------------------------------------------------------------------------------------


def test_plan_does_not_call_extender_by_default(person: Stranger) -> None:
    person.manners["/predicate"] = says({"refused": {"a": "no", "b": "no"}})
    told = Told(conf(person.address, "predicate open allocate ready"), TWO, gang(1), outside=None)
    assert told.binds == "a"
    assert told.warnings == ["the extender is not asked here; what follows is without its word"]
    assert person.heard == []


def test_extender_without_address_or_verbs_is_inactive(person: Stranger, extenders: HttpExtenders) -> None:
    assert Told(conf("", "predicate ready"), TWO, gang(1), outside=extenders).binds == "a"
    assert Told(conf(person.address, ""), TWO, gang(1), outside=extenders).warnings == []
    assert person.heard == []


def test_path_of_address_is_kept(person: Stranger, extenders: HttpExtenders) -> None:
    person.manners["/v1/hooks/predicate"] = says({})
    assert Told(conf(f"{person.address}/v1/hooks/", "predicate"), TWO, gang(1), outside=extenders).binds == "a"


WRONG = [
    ({"extender.urlPrefix": "extender:8080"}, "'extender:8080' is no address"),
    ({"extender.urlPrefix": "ftp://extender"}, "'ftp://extender' is no address"),
    ({"extender.httpTimeout": "fast"}, "'fast' is not a duration"),
    ({"extender.predicateVerb": "a?b=c"}, "'a?b=c' is no part of an address"),
    ({"extender.predicateVerb": "../admin"}, "'../admin' is no part of an address"),
    ({"extender.ignorable": "perhaps"}, "expected true or false"),
    ({"extender.bindVerb": "bind"}, "unknown argument 'extender.bindVerb'"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[words for _, words in WRONG])
def test_invalid_arguments_are_rejected(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_configuration(configuration(plugin("extender", given)), REGISTRY)
    assert words in str(raised.value)


# -- encryption -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


ENCRYPTED = [
    ("both show who they are", ("caFile", "certFile", "keyFile"), "a"),
    ("we do not", ("caFile",), "-"),
    ("nobody knows the server", ("certFile", "keyFile"), "-"),
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
    with stranger(context) as person:
        person.manners["/predicate"] = says({})
        given = {f"extender.{name}": str(tmp_path / name) for name in files}
        told = Told(conf(person.address, "predicate", given), nodes(4, 1), gang(1), outside=extenders)
    assert told.binds == binds


def test_missing_file_is_named(extenders: HttpExtenders) -> None:
    text = conf("https://127.0.0.1:1", "predicate", {"extender.caFile": "/nowhere/ca.pem"})
    told = Told(text, nodes(4, 1), gang(1), outside=extenders)
    assert "/nowhere/ca.pem: No such file or directory" in told.reasons("gang")


# -- on the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "node_of_pod"), [((), "a"), (("--ask-extenders",), "b")])
@pytest.mark.parametrize("command", ["plan", "explain"])
def test_plan_calls_extender_if_requested(
    person: Stranger, tmp_path: Path, command: str, options: tuple[str, ...], node_of_pod: str
) -> None:
    person.manners["/predicate"] = says({"refused": {"a": "not this one"}})
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(flattened([TWO, gang(1)])))
    (tmp_path / "conf").write_text(conf(person.address, "predicate"))
    given = [command, "-f", str(tmp_path / "cluster.yaml"), "--conf", str(tmp_path / "conf"), *options]
    done = CliRunner().invoke(main, [*given, *(["gang"] if command == "explain" else [])])
    assert done.exit_code == 0, done.output
    assert f"{node_of_pod} ×1" in done.output
    assert ("the extender is not asked here" in done.output) is not bool(options)
    assert bool(person.heard) is bool(options)
