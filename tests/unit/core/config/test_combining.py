"""Every rule that turns many answers into one, as tables: the answer of each plugin, and the outcome.

Tiers are written as lists of answers. A plugin that must not be asked any more is written as UNASKED.
"""

from collections.abc import Callable
from typing import Any

import pytest

from stromboli.core.config.combining import (
    Vote,
    all_agree,
    first_answer,
    first_refusal,
    first_tier_decides,
    intersection_by_tier,
    notify_all,
    sort_key,
    union_by_tier,
    vote_by_tier,
)
from stromboli.core.model.reasons import Code, Reason

NO = Reason(Code.PLUGIN_REFUSED, "no")
NEVER = Reason(Code.PLUGIN_REFUSED, "never")
PERMIT, ABSTAIN = Vote.PERMIT, Vote.ABSTAIN
UNASKED = object()


def answering(answer: object) -> Callable[..., Any]:
    def reply(*_: object) -> object:
        assert answer is not UNASKED, "this plugin should not have been asked"
        return answer

    return reply


def chain(answers: list[Any]) -> list[Callable[..., Any]]:
    return [answering(answer) for answer in answers]


def tiers(answers: list[list[Any]]) -> list[list[Callable[..., Any]]]:
    return [chain(tier) for tier in answers]


VOTES = [
    ("no plugin answers", [], None),
    ("empty tiers", [[], []], None),
    ("all abstain", [[ABSTAIN], [ABSTAIN]], None),
    ("one permits", [[PERMIT]], None),
    ("a permission ends the voting after its tier", [[PERMIT], [UNASKED]], None),
    ("an abstention hands over to the next tier", [[ABSTAIN], [NO]], NO),
    ("a rejection is final", [[NO, UNASKED], [UNASKED]], NO),
    ("a permission does not silence the rest of its tier", [[PERMIT, NO]], NO),
    ("an abstention does not silence a permission", [[PERMIT, ABSTAIN], [UNASKED]], None),
    ("the first rejection gives the reason", [[ABSTAIN], [NEVER, UNASKED]], NEVER),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), VOTES, ids=[case[0] for case in VOTES])
def test_vote_by_tier(name: str, answers: list[list[Any]], outcome: Reason | None) -> None:
    assert vote_by_tier(tiers(answers), "job") is outcome


INTERSECTIONS = [
    ("no plugin answers", [], ""),
    ("empty tiers", [[], []], ""),
    ("one plugin chooses", [["ac"]], "ac"),
    ("the order is that of the candidates", [["dba"]], "abd"),
    ("all in a tier must agree", [["abc", "bcd"]], "bc"),
    ("three agree on one", [["abc", "bcd", "cd"]], "c"),
    ("an abstention is no objection", [[None, "ab"]], "ab"),
    ("all plugins abstain", [[None], [None]], ""),
    ("an abstention after a choice", [["ab", None]], "ab"),
    ("all of a tier abstain: the next decides", [[None, None], ["d"]], "d"),
    ("an objection to all ends the tier", [["", UNASKED], ["d"]], "d"),
    ("no agreement: the next tier decides", [["a", "b"], ["cd"]], "cd"),
    ("an empty agreement ends its tier", [["a", "b", UNASKED]], ""),
    ("the first tier with victims decides", [["a"], [UNASKED]], "a"),
    ("the last tier agrees on no victim", [[None], ["a", "b"]], ""),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), INTERSECTIONS, ids=[c[0] for c in INTERSECTIONS])
def test_intersection_by_tier(name: str, answers: list[list[Any]], outcome: str) -> None:
    assert intersection_by_tier(tiers(answers), "preemptor", "abcd", str) == list(outcome)


def test_victims_are_compared_by_identity() -> None:
    copies = [answering([(1, "as one plugin sees it")]), answering([(1, "as another does")])]
    candidates = [(1, "original"), (2, "other")]
    assert intersection_by_tier([copies], None, candidates, lambda task: task[0]) == [(1, "original")]


def test_every_plugin_gets_all_candidates() -> None:
    seen: list[tuple[str, str]] = []

    def picky(preemptor: str, candidates: str) -> str:
        seen.append((preemptor, candidates))
        return candidates[:1]

    intersection_by_tier([[picky, picky]], "preemptor", "ab", str)
    assert seen == [("preemptor", "ab"), ("preemptor", "ab")]


UNIONS = [
    ("no plugin answers", [], ""),
    ("one plugin chooses", [["ac"]], "ac"),
    ("every answer in a tier counts", [["d", "", "ad"]], "ad"),
    ("no victim: the next tier decides", [["", ""], ["b"]], "b"),
    ("the first tier with victims decides", [["b"], [UNASKED]], "b"),
    ("what is no candidate is no victim", [["bz"]], "b"),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), UNIONS, ids=[case[0] for case in UNIONS])
def test_union_by_tier(name: str, answers: list[list[Any]], outcome: str) -> None:
    assert union_by_tier(tiers(answers), "abcd", str) == list(outcome)


REFUSALS = [
    ("no plugin answers", [], None),
    ("all agree", [None, None], None),
    ("the first refusal is final", [None, NO, UNASKED], NO),
    ("the first of two refusals", [NEVER, NO], NEVER),
    ("what is no reason does not silence a later one", [True, NO], NO),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), REFUSALS, ids=[case[0] for case in REFUSALS])
def test_first_refusal(name: str, answers: list[Any], outcome: Reason | None) -> None:
    assert first_refusal(chain(answers), "job") is outcome


AGREEMENTS = [
    ("no plugin answers", [], True),
    ("all agree", [True, True], True),
    ("one does not, the rest is not asked", [True, False, UNASKED], False),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), AGREEMENTS, ids=[case[0] for case in AGREEMENTS])
def test_all_agree(name: str, answers: list[Any], outcome: bool) -> None:
    assert all_agree(chain(answers), "job") is outcome


DECISIONS = [
    ("no plugin answers", [], False),
    ("empty tiers decide nothing", [[], []], False),
    ("the first tier agrees", [[True], [UNASKED]], True),
    ("the first tier rejects", [[False], [UNASKED]], False),
    ("an empty tier is passed over", [[], [True]], True),
    ("all in the tier must say yes", [[True, False], [UNASKED]], False),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), DECISIONS, ids=[case[0] for case in DECISIONS])
def test_first_tier_decides(name: str, answers: list[list[Any]], outcome: bool) -> None:
    assert first_tier_decides(tiers(answers), "job") is outcome


ANSWERS = [
    ("no plugin answers", [], None),
    ("no plugin answers", [None, None], None),
    ("the first answer counts", [None, "b", UNASKED], "b"),
    ("an empty answer is an answer", ["", UNASKED], ""),
    ("so is zero", [0, UNASKED], 0),
]


@pytest.mark.parametrize(("name", "answers", "outcome"), ANSWERS, ids=[case[0] for case in ANSWERS])
def test_first_answer(name: str, answers: list[Any], outcome: object) -> None:
    assert first_answer(chain(answers), "task") == outcome


def test_sort_keys_in_file_order_with_tie_breaker() -> None:
    ages = {"old": 0, "young": 1, "urgent": 2}
    questions: list[Callable[..., Any]] = [lambda job: job != "urgent", answering("all the same")]
    ordered = sorted(ages, key=lambda job: sort_key(questions, job, (ages[job],)))
    assert ordered == ["urgent", "old", "young"]
    assert sort_key([], "job", (3, "uid")) == (3, "uid")


def test_notify_all_calls_plugins_in_order() -> None:
    heard: list[tuple[str, str]] = []
    notify_all([lambda job: heard.append(("first", job)), lambda job: heard.append(("second", job))], "job")
    assert heard == [("first", "job"), ("second", "job")]
