"""The recovery from each failure: delay, relist, problem."""

from dataclasses import dataclass

import pytest

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.rate_limit import TokenBucket
from stromboli.kube.watch.failures import Stage, StaleListError, WatchFailures
from stromboli.kube.watch.reflector import RETRY


def rejected(status: int, reason: str = "", message: str = "no", retry_after: float | None = None) -> ApiError:
    return ApiError(status, reason, message, retry_after=retry_after)


CUT = Unreachable("cut", sent=True)
CLOSED = Unreachable("refused", sent=False)
LIST, OPEN, STREAM, WATCH = Stage.LISTING, Stage.OPENING_STREAMED_LIST, Stage.STREAMING_LIST, Stage.WATCHING


@dataclass
class Case:
    """The same failure `times` times in a row; the last recovery, as letters.

    `0` no delay, `w` waits, `p` probes seldom; `R` list again, `P` in pages, `A` absent, `E` enough, `!` a problem.
    """

    title: str
    error: RequestFailed
    stage: Stage
    recovery: str
    times: int = 1
    optional: bool = False

    def __str__(self) -> str:
        return self.title


CASES = [
    Case("a watch is cut", CUT, WATCH, "0"),
    Case("a watch is cut again", CUT, WATCH, "w!", times=2),
    Case("nothing listens", CLOSED, WATCH, "w!"),
    Case("the version has expired", rejected(410, "Expired"), WATCH, "0R"),
    Case("versions always expire", rejected(410, "Expired"), WATCH, "wR", times=2),
    Case("expired with another status", rejected(500, "Expired"), STREAM, "0R"),
    Case("streamed lists are not supported", rejected(422, "Invalid"), OPEN, "0RP"),
    Case("a bad request", rejected(400), OPEN, "0RP"),
    Case("a bad selector", rejected(400), LIST, "w!"),
    Case("the storage cannot stream", rejected(500, "InternalError"), STREAM, "0RP"),
    Case("the stream cannot be opened now", rejected(500, "InternalError"), OPEN, "w!"),
    Case("too busy to stream", rejected(429), STREAM, "w!"),
    Case("a streamed list is cut", CUT, STREAM, "0"),
    Case("streamed lists never end", CUT, STREAM, "wP!", times=2),
    Case("not installed", rejected(404), OPEN, "w!"),
    Case("not installed, first answer", rejected(404), OPEN, "0R", optional=True),
    Case("not installed, and optional", rejected(404), OPEN, "pRA", times=2, optional=True),
    Case("forbidden", rejected(403), OPEN, "w!"),
    Case("forbidden, and optional", rejected(403), OPEN, "wE!", optional=True),
    Case("a version in the future", rejected(504, "Timeout", "Too large resource version: 9, current: 3"), WATCH, "w!"),
    Case(
        "a version in the future, repeatedly",
        rejected(504, "Timeout", "Too large resource version: 9, current: 3"),
        WATCH,
        "wR!",
        times=3,
    ),
    Case("a slow gateway", rejected(504), WATCH, "w!", times=9),
    Case("a stale list", StaleListError("old"), LIST, "w!"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_recovery(case: Case) -> None:
    failures = WatchFailures(RETRY, optional=case.optional, probe_seconds=600)
    for _ in range(case.times):
        recovery = failures.recover(case.error, case.stage, live_seconds=0)
    letters = "0" if not recovery.delay else "w" if recovery.delay < 100 else "p"
    said = {"R": "relist", "P": "plain", "A": "absent", "E": "enough", "!": "problem"}
    assert letters + "".join(letter for letter, field in said.items() if getattr(recovery, field)) == case.recovery


def test_stable_stream_resets_delays() -> None:
    failures = WatchFailures(RETRY, optional=False, probe_seconds=60)
    for _ in range(10):
        failures.recover(CUT, WATCH, live_seconds=0)
    assert failures.recover(CUT, WATCH, live_seconds=60).delay == 0
    assert failures.ended(live_seconds=300) == 0
    assert failures.ended(live_seconds=0.1) > 0


@pytest.mark.parametrize("retry_after", [None, 0.0, 0.5, 1.0, 20.0, 100.0])
def test_delays_grow_within_bounds(retry_after: float | None) -> None:
    error = rejected(429, retry_after=retry_after)
    for attempt in range(30):
        delay = RETRY.delay(attempt, error)
        assert (
            max(0.8, min(retry_after or 0, 30))
            <= delay
            <= (min(max(0.8, retry_after * 1.2), 30) if retry_after else 30)
        )
    assert all(RETRY.delay(1) <= 2.4 for _ in range(20))


def test_retry_after_of_the_server_is_honoured() -> None:
    failures = WatchFailures(RETRY, optional=False, probe_seconds=60)
    delays = [failures.recover(rejected(429, retry_after=1), WATCH, live_seconds=0).delay for _ in range(20)]
    assert max(delays) <= 1.2


def test_token_bucket_allows_a_burst_and_then_the_rate() -> None:
    now = [0.0]
    bucket = TokenBucket(10, 3, lambda: now[0])
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, pytest.approx(0.1), pytest.approx(0.2)]
    now[0] = 10
    assert [bucket.try_take() for _ in range(4)] == [True, True, True, False]


async def test_token_bucket_without_a_rate_does_not_limit() -> None:
    bucket = TokenBucket(0)
    for _ in range(1000):
        await bucket.wait()
