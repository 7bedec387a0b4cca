"""What follows from each failure: how long to wait, whether to begin anew, what to say."""

import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.backoff import Backoff
from stromboli.kube.client.rate_limit import TokenBucket
from stromboli.kube.watch.failures import Setbacks, Stage, StaleListError


def refused(status: int, reason: str = "", message: str = "no", retry_after: float | None = None) -> ApiError:
    return ApiError(status, reason, message, retry_after=retry_after)


CUT = Unreachable("cut", sent=True)
CLOSED = Unreachable("refused", sent=False)
LIST, OPEN, STREAM, WATCH = Stage.LISTING, Stage.OPENING_STREAMED_LIST, Stage.STREAMING_LIST, Stage.WATCHING


@dataclass
class Case:
    """The same failure `times` times in a row; the verdict on the last, as letters.

    `0` at once, `w` waits, `p` probes seldom; `R` list again, `P` in pages, `A` absent, `E` enough, `!` a problem.
    """

    title: str
    error: RequestFailed
    stage: Stage
    verdict: str
    times: int = 1
    optional: bool = False

    def __str__(self) -> str:
        return self.title


CASES = [
    Case("a watch is cut", CUT, WATCH, "0"),
    Case("a watch is cut again", CUT, WATCH, "w!", times=2),
    Case("nobody is there", CLOSED, WATCH, "w!"),
    Case("the past is forgotten", refused(410, "Expired"), WATCH, "0R"),
    Case("the past is always forgotten", refused(410, "Expired"), WATCH, "wR", times=2),
    Case("gone by another name", refused(500, "Expired"), STREAM, "0R"),
    Case("streams of lists are not known", refused(422, "Invalid"), OPEN, "0RP"),
    Case("the request is not understood", refused(400), OPEN, "0RP"),
    Case("a selector is not understood", refused(400), LIST, "w!"),
    Case("the storage cannot stream", refused(500, "InternalError"), STREAM, "0RP"),
    Case("the server cannot open the stream now", refused(500, "InternalError"), OPEN, "w!"),
    Case("too busy to stream", refused(429), STREAM, "w!"),
    Case("a streamed list is cut", CUT, STREAM, "0"),
    Case("streamed lists never end", CUT, STREAM, "wP!", times=2),
    Case("not installed", refused(404), OPEN, "w!"),
    Case("not installed, perhaps", refused(404), OPEN, "0R", optional=True),
    Case("not installed, and need not be", refused(404), OPEN, "pRA", times=2, optional=True),
    Case("forbidden", refused(403), OPEN, "w!"),
    Case("forbidden, and not needed", refused(403), OPEN, "wE!", optional=True),
    Case("the future", refused(504, "Timeout", "Too large resource version: 9, current: 3"), WATCH, "w!"),
    Case("the far future", refused(504, "Timeout", "Too large resource version: 9, current: 3"), WATCH, "wR!", times=3),
    Case("a slow gateway", refused(504), WATCH, "w!", times=9),
    Case("a list from the past", StaleListError("old"), LIST, "w!"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_verdicts(case: Case) -> None:
    setbacks = Setbacks(Backoff(), optional=case.optional, probe_seconds=600)
    for _ in range(case.times):
        verdict = setbacks.judge(case.error, case.stage, lived=0)
    letters = "0" if not verdict.delay else "w" if verdict.delay < 100 else "p"
    said = {"R": "relist", "P": "plain", "A": "absent", "E": "enough", "!": "problem"}
    assert letters + "".join(letter for letter, field in said.items() if getattr(verdict, field)) == case.verdict


def test_a_stream_that_lived_makes_failures_small_again() -> None:
    setbacks = Setbacks(Backoff(), optional=False, probe_seconds=60)
    for _ in range(10):
        setbacks.judge(CUT, WATCH, lived=0)
    assert setbacks.judge(CUT, WATCH, lived=60).delay == 0
    assert setbacks.ended(lived=300) == 0
    assert setbacks.ended(lived=0.1) > 0


@given(st.integers(), st.integers(1, 30), st.none() | st.floats(0, 100))
def test_waits_grow_within_bounds(seed: int, times: int, asked: float | None) -> None:
    backoff = Backoff(chance=random.Random(seed))  # noqa: S311 - the same examples in every run
    for _ in range(times):
        wait = backoff.next(asked)
        assert max(0.8, asked or 0) <= wait <= (30 if asked is None else max(0.8, asked * 1.2))
    backoff.reset()
    assert backoff.next() <= 2.4


def test_a_server_that_says_when_is_taken_at_its_word() -> None:
    setbacks = Setbacks(Backoff(), optional=False, probe_seconds=60)
    delays = [setbacks.judge(refused(429, retry_after=1), WATCH, lived=0).delay for _ in range(20)]
    assert max(delays) <= 1.2


def test_a_bucket_lets_a_burst_pass_and_then_keeps_the_rate() -> None:
    now = [0.0]
    bucket = TokenBucket(10, 3, lambda: now[0])
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, pytest.approx(0.1), pytest.approx(0.2)]
    now[0] = 10
    assert [bucket.try_take() for _ in range(4)] == [True, True, True, False]


async def test_a_bucket_without_a_rate_lets_everything_pass() -> None:
    bucket = TokenBucket(0)
    for _ in range(1000):
        await bucket.wait()
