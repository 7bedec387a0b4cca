"""Reviews of one person delay no other, and are not made in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from stromboli.console.access.rights import RightsReviewer
from stromboli.planner.live.installation import InstallationName
from stromboli.visibility.reviews import Person

ANA, BEN = Person("ana"), Person("ben")
NAMESPACES = [f"team-{number}" for number in range(50)]


class HeldReviews:
    """An API server that keeps some reviews waiting: of a user and a namespace."""

    def __init__(self, holds: Callable[[str, str], bool]) -> None:
        self.holds = holds
        self.answered: list[str] = []

    async def request(self, method: str, path: str, *, body: bytes, timeout: float) -> bytes:
        spec = msgspec.json.decode(body)["spec"]
        namespace = spec["resourceAttributes"].get("namespace", "")
        while self.holds(spec["user"], namespace):
            await asyncio.sleep(0.001)
        self.answered.append(namespace)
        return msgspec.json.encode({"status": {"allowed": namespace == NAMESPACES[0]}})


async def test_person_of_many_namespaces_delays_no_other() -> None:
    reviewer = RightsReviewer(HeldReviews(lambda user, space: user == "ana" and bool(space)), InstallationName())
    slow = asyncio.create_task(reviewer.of(ANA, NAMESPACES))
    await asyncio.sleep(0.05)
    async with asyncio.timeout(30):
        assert (await reviewer.of(BEN, NAMESPACES)).readable == frozenset(NAMESPACES[:1])
    assert not slow.done()
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)


async def test_cancelled_request_keeps_its_reviews() -> None:
    reviews = HeldReviews(lambda user, space: space == NAMESPACES[-1])
    reviewer = RightsReviewer(reviews, InstallationName())
    request = asyncio.create_task(reviewer.of(ANA, NAMESPACES))
    async with asyncio.timeout(30):
        while not set(NAMESPACES[:-1]) <= set(reviews.answered):
            await asyncio.sleep(0.001)
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    reviews.holds = lambda user, space: False
    assert (await reviewer.of(ANA, NAMESPACES)).namespaces.keys() == set(NAMESPACES)
    assert sorted(reviews.answered).count(NAMESPACES[0]) == 1


@pytest.mark.parametrize(("seconds", "reviews"), [(14.0, 1), (16.0, 2)])
async def test_rights_are_kept_from_the_end_of_their_review(seconds: float, reviews: int) -> None:
    moment = [0.0]
    server = HeldReviews(lambda user, space: False)
    reviewer = RightsReviewer(server, InstallationName(), lambda: moment[0])
    await reviewer.of(ANA, NAMESPACES[:1])
    moment[0] += seconds
    await reviewer.of(ANA, NAMESPACES[:1])
    assert server.answered.count(NAMESPACES[0]) == reviews
