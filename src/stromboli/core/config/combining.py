"""The rules that combine the answers of several plugins. Each rule is written once, here.

The rules see answers grouped by tier, in the order of the configuration file. `tiers` is a sequence of sequences of
functions; a function is a plugin's answer to one extension point.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import total_ordering
from typing import Any, TypeVar

from stromboli.core.model.reasons import Reason

T = TypeVar("T")
Answer = Callable[..., Any]
Tiers = Sequence[Sequence[Answer]]


class Rule(Enum):
    """How answers are combined. The value is the sentence shown in the documentation."""

    SORT_KEYS = "keys are compared in file order; the first that differs decides"
    VOTE_BY_TIER = "a rejection is final; a permission ends the voting after its tier; without votes the result is yes"
    INTERSECTION_BY_TIER = "within a tier all voters must agree on a victim; the first tier with victims decides"
    INTERSECTION = "all voters must agree on a victim, whatever their tiers"
    UNION_BY_TIER = "within a tier every answer counts; the first tier with victims decides"
    ALL_MUST_AGREE = "the first refusal is final"
    SMALLEST = "the smallest answer counts"
    LARGEST = "the largest answer counts"
    ANY = "one yes is enough"
    FIRST_TIER_DECIDES = "the first tier with an answer decides; all plugins in it must agree"
    SUM = "answers are added up"
    FIRST_ANSWER = "the first answer that is not None counts"
    NOTIFY_ALL = "all plugins are notified; nothing is returned"


class Vote(IntEnum):
    """A plugin's vote. Returning a Reason instead of a vote rejects."""

    ABSTAIN = 0
    PERMIT = 1


_PERMIT = Vote.PERMIT


def sort_key(answers: Sequence[Answer], subject: Any, last: tuple[Any, ...]) -> tuple[Any, ...]:
    """Combine all keys; `last` breaks ties. Unrolled for the usual numbers of answers."""
    if len(answers) == 1:
        return (answers[0](subject), *last)
    if len(answers) == 2:
        return (answers[0](subject), answers[1](subject), *last)
    if len(answers) == 3:
        return (answers[0](subject), answers[1](subject), answers[2](subject), *last)
    if len(answers) == 4:
        return (answers[0](subject), answers[1](subject), answers[2](subject), answers[3](subject), *last)
    return (*[answer(subject) for answer in answers], *last)


@total_ordering
@dataclass(frozen=True, slots=True)
class Descending:
    """A sort key in reversed order."""

    key: tuple[Any, ...]

    def __lt__(self, other: Descending) -> bool:
        return other.key < self.key


def vote_by_tier(tiers: Tiers, *subject: Any) -> Reason | None:
    """None when the vote passes, otherwise the reason of the first rejection."""
    for tier in tiers:
        permitted = False
        for answer in tier:
            ballot = answer(*subject)
            if ballot is _PERMIT:
                permitted = True
            elif isinstance(ballot, Reason):
                return ballot
            elif not isinstance(ballot, Vote):
                raise TypeError(f"a vote is a Vote or a Reason, not {ballot!r:.80}")
        if permitted:
            return None
    return None


def intersection_by_tier(
    tiers: Tiers,
    preemptor: Any,
    candidates: Sequence[T],
    identity: Callable[[T], Hashable],
    everywhere: Sequence[Answer] = (),
) -> list[T]:
    """Return the victims that all voters of a tier agree on; None from a plugin is an abstention. Plugins in
    `everywhere` veto victims of tiers they are not in.

    An empty result of one tier passes the question to the next one.
    """
    for tier in tiers:
        agreed: set[Hashable] | None = None
        agreed_all = False
        for answer in tier:
            victims = answer(preemptor, candidates)
            if victims is None:
                continue
            if victims == candidates and candidates:
                agreed_all = True
                continue
            chosen = set(map(identity, victims))
            agreed = chosen if agreed is None else agreed & chosen
            if not agreed:
                break
        if agreed or (agreed is None and agreed_all):
            victims = candidates if agreed is None else [each for each in candidates if identity(each) in agreed]
            others = [answer for answer in everywhere if answer not in tier] if everywhere else ()
            victims = _released_by_all(others, preemptor, victims, identity)
            if victims:
                return victims
    return []


def _released_by_all(
    answers: Sequence[Answer], preemptor: Any, candidates: Sequence[T], identity: Callable[[T], Hashable]
) -> list[T]:
    """Return the candidates that all plugins accept; each plugin gets those that the previous ones accepted."""
    for answer in answers:
        approved = answer(preemptor, candidates)
        if approved is not None and approved != candidates:
            chosen = set(map(identity, approved))
            candidates = [candidate for candidate in candidates if identity(candidate) in chosen]
    return list(candidates)


def guarded_intersection(
    guards: Sequence[Answer],
    tiers: Tiers,
    everywhere: Sequence[Answer],
    preemptor: Any,
    candidates: Sequence[T],
    identity: Callable[[T], Hashable],
) -> list[T]:
    """Return the victims that all guards accept and the tiers agree on; where only guards answer, they decide."""
    if guards:
        candidates = _released_by_all(guards, preemptor, candidates, identity)
        if not any(tiers):
            return list(candidates)
    return intersection_by_tier(tiers, preemptor, candidates, identity, everywhere)


def union_by_tier(tiers: Tiers, candidates: Sequence[T], identity: Callable[[T], Hashable]) -> list[T]:
    for tier in tiers:
        chosen = {identity(victim) for answer in tier for victim in answer(candidates)}
        if chosen:
            return [candidate for candidate in candidates if identity(candidate) in chosen]
    return []


def first_refusal(answers: Iterable[Answer], *subject: Any) -> Reason | None:
    """Return the first reason; None when no plugin returns one. Any other answer is an abstention."""
    for answer in answers:
        refusal = answer(*subject)
        if isinstance(refusal, Reason):
            return refusal
    return None


def all_agree(answers: Iterable[Answer], *subject: Any) -> bool:
    for answer in answers:  # noqa: SIM110 - called in every turn, and twice as fast as a generator
        if not answer(*subject):
            return False
    return True


def first_tier_decides(tiers: Tiers, *subject: Any) -> bool:
    """False when no tier has an answer."""
    for tier in tiers:
        if tier:
            return all_agree(tier, *subject)
    return False


def first_answer(answers: Iterable[Answer], *subject: Any) -> Any:
    for answer in answers:
        result = answer(*subject)
        if result is not None:
            return result
    return None


def notify_all(answers: Iterable[Answer], *subject: Any) -> None:
    for answer in answers:
        answer(*subject)
