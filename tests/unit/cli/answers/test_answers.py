"""`stromboli answer`: what people of one namespace get, whatever others are called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.manifests.manifests import read_manifests
from stromboli.visibility.questions import OUTPUTS
from tests.testing.cases.case import configuration, plugin
from tests.testing.histories import example_records, recorded_job, recorded_pod, write_records
from tests.testing.manifests.builders import Manifest, gang, group, manifest, node, nodes, queue, running

POLICY = Path("examples/contention/scheduler.conf").read_text()
LOW, HIGH = (manifest("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in
             (("low", 1), ("high", 100)))  # fmt: skip
#: Namespaces and jobs with names that are also words of the output, numbers, or prefixes of others.
HOSTILE = [("team-b", "urgent"), ("pods", "cpu"), ("team", "a"), ("nodes", "memory"), ("0", "1"), ("team-a-b", "x.y.z")]


def cluster(*others: tuple[str, str]) -> list[Manifest]:
    """Jobs of others run and wait in the queue of team-a's jobs, some of which preempt and some of which wait."""
    found: list[Manifest] = [LOW, HIGH, *nodes(4, 3), queue("research")]
    for number, (namespace, name) in enumerate(others):
        facts: dict[str, Any] = {"namespace": namespace, "queue": "research"}
        found += running("abc"[number % 3], 1, name=name, minimum=1, **facts, priority="low", priorityClassName="low")
        found += gang(1, 4, name=f"{name}-waits", **facts, created="2020-01-01T00:00:00Z", phase="Inqueue")
        broken = group(f"{name}-broken", 1, namespace=namespace)
        broken["metadata"]["annotations"] = {"scheduling.stromboli.dev/min-runtime": "hidden"}
        found.append(broken)
    found += gang(1, 4, name="next", namespace="team-a", queue="research", priority="high", priorityClassName="high")
    return [*found, *gang(2, 9, name="large", namespace="team-a", queue="research", created="2021-01-01T00:00:00Z")]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return written(tmp_path, cluster(*HOSTILE))


def written(folder: Path, objects: list[Manifest], policy: str = POLICY, now: float = 1_600_000_000.0) -> Path:
    (folder / "objects.json").write_text(json.dumps(objects))
    state = Cluster()
    for entry in read_manifests([str(folder / "objects.json")]).objects:
        state.apply(entry)
    path = folder / "dump.json.gz"
    write_dump(path, Dump(contents_of(state), now, policy))
    return path


def answer(dump: Path, resource: str, *, history: str = "", **question: Any) -> dict[str, Any]:
    text = json.dumps({"resource": resource, "namespace": "team-a", **question})
    arguments = ["answer", str(dump), *(["--history", history] if history else [])]
    result = CliRunner().invoke(main, arguments, input=text)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


QUESTIONS: dict[str, dict[str, Any]] = {
    "plan": {"resource": "plans"},
    "explained plan": {"resource": "plans", "parameters": {"explain": "true"}},
    "plan of a submission": {"resource": "plans", "objects": gang(1, 4, name="new", namespace="team-a")},
    "jobs": {"resource": "jobs"},
    "planned jobs": {"resource": "jobs", "parameters": {"plan": "true"}},
    "job": {"resource": "jobs", "name": "next"},
    "explanation": {"resource": "jobs/explanation", "name": "large"},
    "explanation of a preemptor": {"resource": "jobs/explanation", "name": "next"},
    "queues": {"resource": "queues"},
    "unknown job": {"resource": "jobs", "name": "urgent"},
    "misspelt job": {"resource": "jobs/explanation", "name": "urgen"},
}


@pytest.mark.parametrize("output", ["json", "wide"])
@pytest.mark.parametrize("case", QUESTIONS)
def test_no_name_of_another_namespace_is_in_an_answer(case: str, output: str, dump: Path) -> None:
    text = json.dumps(answer(dump, **QUESTIONS[case], output=output))
    for namespace, name in HOSTILE:
        assert f"{namespace}/{name}" not in text or f"{namespace}/{name}".replace("/", "").isdecimal()
    assert not [
        word for word in ("urgent-", "urgent/", "team-b", "team-a-b", "x.y.z", "-broken", "hidden") if word in text
    ]


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_has_the_jobs_of_the_namespace_only(output: str, dump: Path) -> None:
    found = answer(dump, "jobs", output=output)
    assert (found["text"] is None) is (output == "json")
    text = found["text"] or json.dumps(found["result"])
    assert "next" in text
    assert "large" in text
    assert "urgent" not in text


def test_preempted_pods_and_jobs_ahead_are_numbered(dump: Path) -> None:
    plan = answer(dump, "plans")["result"]
    victims = {each["pod"] for each in plan["evictionDetails"]}
    assert victims
    assert all(victim.startswith("other-namespace/") for victim in victims)
    assert set(plan["podGroups"]) == {"team-a/next", "team-a/large"}
    explained = answer(dump, "jobs/explanation", name="large")["result"]
    assert len(explained["ahead"]) > 3
    assert {each["job"].partition("/")[0] for each in explained["ahead"]} <= {"other-namespace", "team-a"}


def test_answer_equals_that_of_an_administrator_but_for_the_names(tmp_path: Path) -> None:
    dump = written(tmp_path, cluster(("team-b", "urgent")))
    mine = answer(dump, "jobs/explanation", name="large", output="table")["text"]
    whole = CliRunner().invoke(main, ["explain", "-f", str(dump), "team-a/large"]).stdout
    assert [line.split()[:1] for line in mine.splitlines() if "other-namespace" not in line] == [
        line.split()[:1] for line in whole.splitlines() if "team-b" not in line
    ]
    jobs = {job["job"]: job["position"] for job in answer(dump, "jobs")["result"]["jobs"]}
    everything = json.loads(CliRunner().invoke(main, ["jobs", "-f", str(dump), "-o", "json"]).stdout)["jobs"]
    assert jobs == {job["job"]: job["position"] for job in everything if job["namespace"] == "team-a"}


def test_queues_are_those_of_the_namespace(dump: Path) -> None:
    assert [each["queue"] for each in answer(dump, "queues")["result"]["queues"]] == ["default", "research"]


PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "object of another namespace": (
        {"resource": "plans", "objects": gang(1, 1, name="x", namespace="team-b")},
        "PodGroup team-b/x is not in namespace team-a, that of the question",
    ),
    "object of the cluster": ({"resource": "plans", "objects": [node("z", 99)]}, "Node z cannot be part of a question"),
    "no history": ({"resource": "history"}, "the scheduler records no history"),
    "unknown job": (
        {"resource": "jobs", "name": "nowhere"},
        "no job is called nowhere in namespace team-a; there are team-a/",
    ),
    "selector": ({"resource": "jobs", "parameters": {"selector": "a==b==c"}}, "'a==b==c' is not one of KEY=VALUE"),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_question_without_an_answer_has_a_problem(case: str, dump: Path) -> None:
    question, message = PROBLEMS[case]
    assert message in answer(dump, **question)["problem"].replace("other-namespace/1", "team-b/x")


def test_history_is_that_of_the_namespace_with_numbered_preemptors(dump: Path, tmp_path: Path) -> None:
    address = str(tmp_path / "history.db")
    write_records(address, *example_records())
    jobs = answer(dump, "history", history=address, parameters={"since": "0"})["result"]["jobs"]
    assert {job["namespace"] for job in jobs} == {"team-a"}
    page = answer(dump, "history", history=address, name="finetune", output="table")["text"]
    assert "evicted" in page
    assert "in favour of other-namespace/1" in page
    problem = answer(dump, "history", history=address, name="urgent")["problem"]
    assert problem.startswith("the history has no job urgent in namespace team-a")


def test_submission_is_planned_among_the_jobs_of_others(dump: Path) -> None:
    new = gang(1, 1, name="new", namespace="team-a", queue="research")
    found = answer(dump, "plans", objects=new)
    assert list(found["result"]["podGroups"]) == ["team-a/new"]
    assert found["exitCode"] in (0, 3)


INVALID = {
    "no resource": ("{}", "resource"),
    "objects that are texts": ('{"resource": "plans", "namespace": "team-a", "objects": ["a"]}', "$.objects[0]"),
    "deep objects": ('{"resource": "plans", "namespace": "team-a", "objects": [' + '{"a":' * 100_000, "recursion"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_question_has_a_problem(case: str, dump: Path) -> None:
    text, message = INVALID[case]
    result = CliRunner().invoke(main, ["answer", str(dump)], input=text)
    assert result.exit_code == 0
    problem = json.loads(result.stdout)["problem"]
    assert problem.startswith("the question is invalid: ")
    assert message in problem


def test_dump_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    question = '{"resource": "jobs", "namespace": "team-a"}'
    result = CliRunner().invoke(main, ["answer", str(tmp_path / "none")], input=question)
    assert (result.exit_code, result.stdout) == (1, "")


def test_large_answer_is_a_problem(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.visibility.questions.MAX_ANSWER", 100)
    assert answer(dump, "jobs")["problem"] == "the answer has more than 0 MiB; ask about less"


def test_pods_that_the_plan_evicts_are_no_names_of_jobs_of_others(dump: Path) -> None:
    victims = {f"{name}-task-0" for _, name in HOSTILE}
    evicted = json.loads(CliRunner().invoke(main, ["plan", "-f", str(dump), "-o", "json"]).stdout)["evictionDetails"]
    assert victims & {each["pod"].partition("/")[2] for each in evicted}
    for namespace, name in HOSTILE:
        for asked in (f"{name}-task-0", f"{namespace}/{name}-task-0"):
            for resource in ("jobs", "jobs/explanation"):
                assert str(answer(dump, resource, name=asked)["problem"]).startswith("no job is called")


def test_page_of_a_job_numbers_preemptors_of_namespaces_that_are_gone(dump: Path, tmp_path: Path) -> None:
    address = str(tmp_path / "history.db")
    pods = [recorded_pod("next", at=60, start=61, evicted=1800, end=1815, reason="preempt", preemptor="old-team/gone")]
    write_records(address, [recorded_job("next", at=60)], pods)
    page = answer(dump, "jobs", history=address, name="next")
    assert "other-namespace/1" in json.dumps(page["result"]["history"])
    assert "old-team" not in json.dumps(page)


#: Questions with words that their answers repeat.
PROBES: dict[str, Callable[[str], dict[str, Any]]] = {
    "name": lambda other: {"resource": "jobs", "name": f"{other}/x"},
    "name after an escaped character": lambda other: {"resource": "jobs", "name": f"a\n{other}/x"},
    "selector": lambda other: {"resource": "jobs", "parameters": {"selector": f"{other}/x==b==c"}},
    "object": lambda other: {"resource": "plans", "objects": gang(1, 1, namespace="team-a", queue=f"{other}/x")},
}


@pytest.mark.parametrize("case", PROBES)
def test_words_of_a_question_do_not_show_which_namespaces_exist(case: str, dump: Path) -> None:
    texts = [json.dumps(answer(dump, **PROBES[case](other))).replace(other, "OTHER") for other in ("team-b", "team-z")]
    present, absent = (re.sub(r"\S*/objects.json", "objects.json", text) for text in texts)
    assert present == absent


FAIR = configuration(
    "gang", plugin("fairshare", {"halfLife": "0s", "k": 20}), "proportion", "predicates", actions="enqueue, allocate"
)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_answers_count_the_usage_of_the_history_of_the_scheduler(tmp_path: Path, is_recorded: bool) -> None:
    """Queue research has used three times what production has used: it gets nothing by this policy."""
    write_records(str(tmp_path / "history.db"), *example_records())
    world = [
        node("a", 1), queue("research"), queue("production"),
        *gang(1, 1, name="first", namespace="team-a", queue="research"),
        *gang(1, 1, name="second", namespace="team-a", queue="production"),
    ]  # fmt: skip
    dump = written(tmp_path, world, FAIR, now=1_772_452_800.0)
    history = str(tmp_path / "history.db") if is_recorded else ""
    found = answer(dump, "plans", history=history)["result"]
    assert list(found["binds"]) == (["team-a/second-task-0"] if is_recorded else [])
    assert any("the scheduler records no history" in each for each in found["warnings"]) is not is_recorded
    of_console = {"console": "explanation", "job": "team-a/second", "namespace": "team-a"}
    arguments = ["answer", str(dump), *(["--history", history] if history else [])]
    explained = json.loads(CliRunner().invoke(main, arguments, input=json.dumps(of_console)).stdout)["result"]
    assert explained["waiting"] is not is_recorded


def test_policy_that_begins_to_read_usage_is_compared_with_the_history(tmp_path: Path) -> None:
    history = str(tmp_path / "history.db")
    write_records(history, *example_records())
    world = [
        node("a", 1), queue("research"), queue("production"),
        *gang(1, 1, name="first", namespace="team-a", queue="research"),
        *gang(1, 1, name="second", namespace="team-a", queue="production"),
    ]  # fmt: skip
    without = configuration("gang", "proportion", "predicates", actions="enqueue, allocate")
    dump = written(tmp_path, world, without, now=1_772_452_800.0)
    question = {"console": "policyDiff", "otherPolicy": FAIR, "readable": None, "namespace": "team-a"}
    result = CliRunner().invoke(main, ["answer", str(dump), "--history", history], input=json.dumps(question))
    found = json.loads(result.stdout)["result"]
    assert [each["job"] for each in found["after"]["jobs"] if not each["waiting"]] == ["team-a/second"]
    assert all(each["waiting"] for each in found["before"]["jobs"])
