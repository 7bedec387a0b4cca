"""Rules of Jobs, as tables."""

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import stamp
from stromboli.kube.objects.workloads import BatchJob
from stromboli.local.fakes.workloads.job_records import JobRecord
from stromboli.local.fakes.workloads.job_rules import (
    COMPLETION_INDEX,
    Counts,
    deadline,
    ending,
    expires_at,
    ignores_failure,
    index_set,
    index_text,
    plan,
    status_changes,
)
from stromboli.local.fakes.workloads.jobs import indexed

NOW = 1_800_000_000.0


def job(status: dict[str, Any] | None = None, **spec: Any) -> BatchJob:
    return msgspec.convert({"metadata": {"name": "j", "uid": "u"}, "spec": spec, "status": status or {}}, BatchJob)


def pod(name: str, phase: str = "Running", index: int | None = None, **metadata: Any) -> Pod:
    annotations = {} if index is None else {COMPLETION_INDEX: str(index)}
    facts = {"name": name, "namespace": "default", "uid": name, "annotations": annotations, **metadata}
    return msgspec.convert({"metadata": facts, "spec": {"nodeName": "n"}, "status": {"phase": phase}}, Pod)


def true(kind: str, **facts: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": stamp(NOW), **facts}]}


class End(NamedTuple):
    title: str
    job: BatchJob
    counts: Counts
    expected: tuple[str, str] | None


STARTED = {"startTime": stamp(NOW - 10)}
ENDS = [
    End("nothing has happened", job(completions=2), Counts(), None),
    End("one of two", job(completions=2), Counts(succeeded=1), None),
    End("two of two", job(completions=2), Counts(succeeded=2), ("Complete", "CompletionsReached")),
    End("nothing to do", job(completions=0), Counts(), ("Complete", "CompletionsReached")),
    End("the first success is enough", job(), Counts(succeeded=1), ("Complete", "CompletionsReached")),
    End("the others are still at it", job(), Counts(succeeded=1, active=2), None),
    End("as often as it may fail", job(completions=1, backoffLimit=2), Counts(failed=2), None),
    End("once too often", job(completions=1, backoffLimit=2), Counts(failed=3), ("Failed", "BackoffLimitExceeded")),
    End("six by default", job(completions=1), Counts(failed=7), ("Failed", "BackoffLimitExceeded")),
    End("in time", job(STARTED, completions=1, activeDeadlineSeconds=11), Counts(), None),
    End("too late", job(STARTED, completions=1, activeDeadlineSeconds=10), Counts(), ("Failed", "DeadlineExceeded")),
    End("suspended", job(STARTED, completions=1, activeDeadlineSeconds=1, suspend=True), Counts(), None),
    End("decided", job(true("FailureTarget", reason="R"), completions=1), Counts(succeeded=1), ("Failed", "R")),
]


@pytest.mark.parametrize("case", ENDS, ids=[case.title for case in ENDS])
def test_ending(case: End) -> None:
    end = ending(case.job, case.counts, NOW)
    assert (end and (end.type, end.reason)) == case.expected


class Step(NamedTuple):
    title: str
    job: BatchJob
    active: list[Pod]
    counts: Counts
    create: tuple[int | None, ...]
    delete: frozenset[str] = frozenset()


TWO = [pod("a", creationTimestamp=stamp(NOW)), pod("b", creationTimestamp=stamp(NOW + 1))]
WAITING = pod("w", "Pending")
SIX: dict[str, Any] = {"completionMode": "Indexed", "completions": 6, "parallelism": 3}
STEPS = [
    Step("the first", job(completions=1, parallelism=1), [], Counts(), (None,)),
    Step("as many as may be at work", job(completions=5, parallelism=2), [], Counts(), (None, None)),
    Step("no more than are left", job(completions=5, parallelism=4), [], Counts(succeeded=3), (None, None)),
    Step("one is missing", job(completions=5, parallelism=3), TWO, Counts(succeeded=1), (None,)),
    Step("all are there", job(completions=5, parallelism=2), TWO, Counts(), ()),
    Step("the youngest pod is deleted", job(completions=5, parallelism=1), TWO, Counts(), (), frozenset({"b"})),
    Step(
        "pending pods are deleted first",
        job(completions=5, parallelism=2),
        [*TWO, WAITING],
        Counts(),
        (),
        frozenset({"w"}),
    ),
    Step("parallelism of zero", job(completions=5, parallelism=0), TWO, Counts(), (), frozenset({"a", "b"})),
    Step("suspended", job(completions=5, parallelism=2, suspend=True), TWO, Counts(), (), frozenset({"a", "b"})),
    Step("work queue, started", job(parallelism=3), TWO, Counts(), (None,)),
    Step("work queue, one succeeded", job(parallelism=3), TWO, Counts(succeeded=1), ()),
    Step("the lowest indexes", job(**SIX), [], Counts(), (0, 1, 2)),
    Step("the gaps", job(**SIX), [pod("a", index=1)], Counts(succeeded=1, indexes=frozenset({0})), (2, 3)),
    Step("the last", job(**SIX), [], Counts(succeeded=5, indexes=frozenset({0, 1, 2, 3, 4})), (5,)),
    Step("one index, two pods", job(**SIX), [pod("a", index=1), pod("b", index=1)], Counts(), (0, 2), frozenset({"b"})),
    Step("invalid indexes", job(**SIX), [pod("a", index=9), pod("b")], Counts(), (0, 1, 2), frozenset({"a", "b"})),
]


@pytest.mark.parametrize("case", STEPS, ids=[case.title for case in STEPS])
def test_plan(case: Step) -> None:
    step = plan(case.job, case.active, case.counts, is_ending=False)
    assert (step.create, {each.metadata.name for each in step.delete}) == (case.create, set(case.delete))


def test_ending_job_deletes_active_pods() -> None:
    assert plan(job(completions=5, parallelism=5), TWO, Counts(), is_ending=True).delete == tuple(TWO)


def test_times() -> None:
    assert deadline(job(STARTED, activeDeadlineSeconds=30)) == NOW + 20
    assert deadline(job(activeDeadlineSeconds=30)) is None
    assert expires_at(job(true("Complete"), ttlSecondsAfterFinished=5)) == NOW + 5
    assert expires_at(job(true("Complete"))) is None
    assert expires_at(job(ttlSecondsAfterFinished=5)) is None


TEXTS = [((), ""), ((3,), "3"), ((0, 1), "0,1"), ((0, 1, 2), "0-2"), ((0, 2, 3, 4, 7, 8), "0,2-4,7,8")]


@pytest.mark.parametrize(("indexes", "text"), TEXTS)
def test_index_text(indexes: tuple[int, ...], text: str) -> None:
    assert index_text(indexes) == text


@given(st.frozensets(st.integers(0, 60)))
def test_index_text_round_trip(indexes: frozenset[int]) -> None:
    assert index_set(index_text(indexes)) == indexes


class TestRecord:
    def test_every_pod_is_counted_once(self) -> None:
        record = JobRecord()
        for entry, is_gone in ((pod("a"), False), (pod("a", "Succeeded"), False), (pod("a", "Succeeded"), True)):
            record.note(entry, is_gone, NOW)
        record.note(pod("b", "Failed"), False, NOW)
        record.note(pod("c"), True, NOW)
        record.dismiss("d")
        record.note(pod("d"), True, NOW)
        counts = record.counts(job(), [pod("e"), pod("f", deletionTimestamp=stamp(NOW))])
        assert (counts.succeeded, counts.failed, counts.active, counts.terminating) == (1, 2, 1, 1)

    def test_earlier_counts_are_kept(self) -> None:
        record = JobRecord()
        record.note(pod("a", "Succeeded"), False, NOW)
        known = job({"succeeded": 3, "failed": 1})
        assert record.counts(known, []).succeeded == 3
        record.note(pod("b", "Succeeded"), False, NOW)
        assert (record.counts(known, []).succeeded, record.counts(known, []).failed) == (4, 1)

    def test_completed_index_is_counted_once(self) -> None:
        record = JobRecord()
        for name, index in (("a", 1), ("b", 1), ("c", 9)):
            record.note(pod(name, "Succeeded", index), False, NOW)
        known = job({"completedIndexes": "0"}, completionMode="Indexed", completions=4)
        assert record.counts(known, []).indexes == {0, 1}

    def test_backoff_grows_until_success(self) -> None:
        record = JobRecord()
        pauses = []
        for name in "abcd":
            record.note(pod(name, "Failed"), False, NOW)
            pauses.append(record.retry_at(10, 60) - NOW)
        assert pauses == [10, 20, 40, 60]
        record.note(pod("e", "Succeeded"), False, NOW)
        assert record.retry_at(10, 60) == 0


def test_status_contains_only_changes() -> None:
    fresh = status_changes(job(completions=2), Counts(active=2), None, NOW)
    assert fresh == {"active": 2, "ready": 0, "terminating": 0, "startTime": stamp(NOW)}
    same = job({"active": 2, "ready": 0, "terminating": 0, "startTime": stamp(NOW)}, completions=2)
    assert status_changes(same, Counts(active=2), None, NOW + 5) == {}


def test_job_finishes_after_last_pod() -> None:
    end = ending(job(completions=1), Counts(succeeded=1), NOW)
    still = status_changes(job(completions=1), Counts(succeeded=1, terminating=1), end, NOW)
    assert [each["type"] for each in still["conditions"]] == ["SuccessCriteriaMet"]
    over = status_changes(job(completions=1), Counts(succeeded=1), end, NOW)
    assert [each["type"] for each in over["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert over["completionTime"] == stamp(NOW)


def test_suspend_and_resume() -> None:
    asleep = status_changes(job(STARTED, completions=1, suspend=True), Counts(), None, NOW)
    assert (asleep["startTime"], asleep["conditions"][0]["reason"]) == (None, "JobSuspended")
    awake = status_changes(job(true("Suspended"), completions=1), Counts(), None, NOW)
    assert awake["startTime"] == stamp(NOW)
    assert [(each["type"], each["status"]) for each in awake["conditions"]] == [("Suspended", "False")]


def test_indexed_pod_document() -> None:
    document = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "env": [{"name": "X"}]}]}}
    made = indexed(document, "train", 3)
    assert made["metadata"]["labels"] == {"a": "b", COMPLETION_INDEX: "3"}
    assert made["metadata"]["annotations"] == {COMPLETION_INDEX: "3"}
    assert made["spec"]["hostname"] == "train-3"
    assert [each["name"] for each in made["spec"]["containers"][0]["env"]] == ["X", "JOB_COMPLETION_INDEX"]


IGNORE_DISRUPTION = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
COUNT_DISRUPTION = {"action": "Count", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
BY_EXIT_CODE = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [137]}}
DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("rules", "conditions", "is_ignored"),
    [
        ([], DISRUPTED, False),
        ([IGNORE_DISRUPTION], DISRUPTED, True),
        ([IGNORE_DISRUPTION], [{"type": "DisruptionTarget", "status": "False"}], False),
        ([IGNORE_DISRUPTION], [], False),
        ([COUNT_DISRUPTION, IGNORE_DISRUPTION], DISRUPTED, False),
        ([BY_EXIT_CODE, IGNORE_DISRUPTION], DISRUPTED, True),
    ],
    ids=["no rule", "ignored", "other status", "no condition", "earlier rule applies", "rule by exit code is skipped"],
)
def test_failure_policy_ignores_evicted_pods(rules: list[Any], conditions: list[Any], is_ignored: bool) -> None:
    evicted = msgspec.convert({"metadata": {"name": "p"}, "status": {"conditions": conditions}}, Pod)
    assert ignores_failure(job(podFailurePolicy={"rules": rules}), evicted) is is_ignored
    assert not ignores_failure(job(), evicted)
