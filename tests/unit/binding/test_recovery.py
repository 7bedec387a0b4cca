"""Recovery of half-bound gangs: detection, time limits, and the pods to evict."""

from __future__ import annotations

import pytest

from stromboli.binding.recovery import (
    COMMIT,
    DECIDED,
    GangRecovery,
    commit_annotations,
    completes_others,
    left_behind,
    term_of,
    with_followers,
)
from stromboli.kube.objects.meta import KubeCondition, ObjectMeta
from stromboli.kube.objects.pod import Pod

BEFORE, DECISION, AFTER = "2024-01-01T10:00:00Z", "2024-01-01T10:00:05.5Z", "2024-01-01T10:00:09Z"


def member(
    uid: str, *, commit: str = "", created: str = BEFORE, node: str = "", decided: str = DECISION, bound: str = ""
) -> Pod:
    """A pod; with a commit, bound by it to a node."""
    marks = {COMMIT: commit, DECIDED: decided} if commit else None
    pod = Pod(metadata=ObjectMeta(uid, "default", uid, annotations=marks, creation_timestamp=created))
    pod.spec.node_name = node or ("node-a" if commit else None)
    pod.status.conditions = [KubeCondition("PodScheduled", "True", last_transition_time=bound)] if bound else None
    return pod


#: The pods of one job, and those that were left behind.
CASES: dict[str, tuple[list[Pod], str]] = {
    "no pod is bound": ([member("a"), member("b")], ""),
    "all are bound": ([member("a", commit="c/2"), member("b", commit="c/2")], ""),
    "one of two is bound": ([member("a", commit="c/2"), member("b")], "a"),
    "two of three are bound": ([member("a", commit="c/3"), member("b", commit="c/3"), member("c")], "ab"),
    "the one that waits came later": ([member("a", commit="c/2"), member("b", created=AFTER)], ""),
    "a commit that came to its end": ([member("a", commit="c/1"), member("b")], ""),
    "one that was to complete others, which are pending": ([member("a", commit="d/1/2"), *map(member, "bc")], "a"),
    "one that completed others, which came again": ([member("a", commit="d/1/1"), member("b", created=AFTER)], ""),
    "one commit that did and one that did not": (
        [member("a", commit="c/1"), member("b", commit="d/2"), member("c")],
        "b",
    ),
    "bound by another writer": ([member("a", node="node-a"), member("b")], ""),
    "marks that make no sense": ([member("a", commit="c/x"), member("b")], ""),
    "no marks but a slash": ([member("a", commit="/"), member("b")], ""),
    "a size beyond all sense": ([member("a", commit=f"c/{10**30}"), member("b")], ""),
    "decided by a clock that is behind": (
        [member("a", commit="c/2", decided="2024-01-01T09:00:00Z", bound="2024-01-01T10:00:06Z"), member("b")],
        "a",
    ),
    "decided by a clock that is ahead": (
        [
            member("a", commit="c/2", decided="2024-01-01T11:00:00Z", bound="2024-01-01T10:00:06Z"),
            member("b", created=AFTER),
        ],
        "",
    ),
    "a time that makes no sense": ([member("a", commit="c/2", decided="yesterday"), member("b")], ""),
}


TERMS = {"7.ab.1.0/3": 7, "0.ab.1.0/3": 0, "": None, "ab.1/3": None, f"{10**30}.ab/3": None, "-1.ab/3": None}


@pytest.mark.parametrize(("mark", "expected"), TERMS.items())
def test_term_is_read_from_the_commit_annotation(mark: str, expected: int | None) -> None:
    assert term_of(member("a", commit=mark)) == expected


@pytest.mark.parametrize(("pods", "expected"), CASES.values(), ids=CASES)
def test_members_left_behind_by_an_incomplete_commit(pods: list[Pod], expected: str) -> None:
    assert "".join(left_behind(pods)) == expected


def test_single_pod_has_no_commit_annotation() -> None:
    assert commit_annotations("0.a.1", 1, DECISION, is_gang=False) == {}
    assert commit_annotations("0.a.1", 2, DECISION, is_gang=True) == {COMMIT: "0.a.1/2", DECIDED: DECISION}
    completing = commit_annotations("0.a.1", 2, DECISION, is_gang=True, completes=3)
    assert completing == {COMMIT: "0.a.1/2/3", DECIDED: DECISION}
    assert completes_others(completing)
    assert not completes_others({COMMIT: "0.a.1/2"})


class RecoveryCase:
    """A gang, and a manual clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.has_minimum_placed = self.can_complete = False
        self.healing = GangRecovery(
            lambda job: self.has_minimum_placed, lambda job: self.can_complete, lambda: self.now, timeout=30.0
        )
        self.healing.begin("job", ["a", "b"])


def test_half_bound_gang_is_due_once_after_its_timeout() -> None:
    scenario = RecoveryCase()
    assert (scenario.healing.due(), scenario.healing.next_due()) == ([], 30.0)
    scenario.now += 29
    assert (scenario.healing.due(), scenario.healing.next_due()) == ([], 1.0)
    scenario.now += 1
    assert [half.uids for half in scenario.healing.due()] == [("a", "b")]
    assert (scenario.healing.due(), scenario.healing.open, scenario.healing.next_due()) == ([], 0, None)


def test_gang_that_became_whole_is_not_due() -> None:
    scenario = RecoveryCase()
    scenario.has_minimum_placed = True
    scenario.now += 100
    assert (scenario.healing.due(), scenario.healing.open) == ([], 0)


def test_pending_binds_delay_recovery_but_do_not_complete_the_gang() -> None:
    scenario = RecoveryCase()
    scenario.can_complete, scenario.now = True, scenario.now + 100
    assert (scenario.healing.due(), scenario.healing.next_due(), scenario.healing.open) == ([], None, 1)
    scenario.can_complete = False
    assert [half.job for half in scenario.healing.due()] == ["job"]


def test_later_members_share_the_deadline_of_the_first() -> None:
    scenario = RecoveryCase()
    scenario.now += 20
    scenario.healing.begin("job", ["b", "c"])
    scenario.now += 10
    assert [half.uids for half in scenario.healing.due()] == [("a", "b", "c")]


def test_followers_of_an_incomplete_commit_are_evicted_with_it() -> None:
    earlier = member("e", commit="0.a.0/2", decided=BEFORE)
    pods = [earlier, member("a", commit="0.a.1/2"), member("b", commit="0.a.2/1", decided=AFTER), member("d")]
    assert with_followers(["a", "d"], pods) == ["a", "d", "b"]
    assert with_followers(["d"], pods) == ["d"], "nothing is known of when it was decided"
