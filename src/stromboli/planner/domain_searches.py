"""Domain searches, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stromboli.core.model.topology.hypernodes import TOP
from stromboli.core.topology.domain_search_records import (
    WHOLE_CLUSTER,
    DomainOutcome,
    DomainSearchRecord,
    DomainVerdict,
    outcomes,
    where,
)

_MAX_NAMES = 4


def search_as_plain(search: DomainSearchRecord) -> dict[str, Any]:
    taken, topology = search.chosen, search.topology
    return {
        "subGroup": search.sub_job,
        "mode": None if topology is None else "hard" if topology.hard else "soft",
        "needed": search.needed,
        "message": where(search),
        "placed": None
        if taken is None
        else {"domain": taken.name, "tier": _tier(search), "score": search.score, "pods": search.placed},
        "considered": [_outcome(each) for each in outcomes(search)],
        "subGroups": [search_as_plain(part) for part in search.parts],
    }


def _tier(search: DomainSearchRecord) -> int:
    tree, taken = search.tree, search.chosen
    return tree.tiers[tree.top if taken is None or taken.place is None else taken.place]


def _outcome(outcome: DomainOutcome) -> dict[str, Any]:
    return {
        "domain": outcome.domain,
        "tier": outcome.tier,
        "verdict": outcome.verdict.value,
        "why": outcome.why,
        "holds": outcome.holds,
        "score": outcome.score,
    }


def search_in_lines(search: DomainSearchRecord) -> Iterator[str]:
    """Yield the selected domain, and a line for the rejected domains of each tier and reason."""
    yield where(search)
    alike: dict[tuple[int, str], list[str]] = {}
    for each in outcomes(search):
        if each.verdict is not DomainVerdict.CHOSEN:
            alike.setdefault((each.tier, each.why), []).append(WHOLE_CLUSTER if each.domain == TOP else each.domain)
    yield from (f"  {_names(names)} (tier {tier}): {why}" for (tier, why), names in alike.items())
    for part in search.parts:
        yield from (f"  {line}" for line in search_in_lines(part))


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
