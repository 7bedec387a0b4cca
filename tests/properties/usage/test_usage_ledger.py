"""Past usage equals the integral over every run, for any decay and any order of events."""

from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.usage.decay import UsageDecay, WindowForm
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account, PastUsage
from tests.testing.random_clusters.effort import examples

GPU = "nvidia.com/gpu"
AXIS = ResourceAxis(("cpu", "memory", "pods", GPU))
EPOCH = 1_790_000_000.0
ACCOUNTS = [
    Account("research", "team-a", "ana", (("cpu", 1000), ("pods", 1))),
    Account("research", "team-a", "bob", (("cpu", 2000), (GPU, 4000))),
    Account("production", "team-b", "ana", ((GPU, 1000),)),
]

moments = st.integers(0, 4000).map(lambda tenths: EPOCH + tenths / 10)
runs = st.tuples(st.sampled_from(range(len(ACCOUNTS))), moments, st.one_of(st.just(inf), moments))
decays = st.builds(
    UsageDecay,
    st.sampled_from([0.0, 5.0, 60.0]),
    st.sampled_from([0.0, 30.0, 100.0]),
    st.sampled_from(WindowForm),
    st.sampled_from([EPOCH + 7, EPOCH + 90]),
)


def integral(started: float, ended: float, now: float, decay: UsageDecay) -> float:
    since, until = max(started, decay.window_start(now)), min(ended, now)
    if until <= since:
        return 0.0
    rate = decay.rate
    return (exp(-rate * (now - until)) - exp(-rate * (now - since))) / rate if rate else until - since


def cpu_and_gpu(usage: PastUsage, queue: str, user: str) -> tuple[float, float]:
    used = usage.user(queue, user)
    return used[0], used[3]


@examples(60)
@given(
    st.lists(runs.filter(lambda run: run[1] <= run[2]), max_size=8),
    decays,
    st.lists(st.floats(0, 500), min_size=1, max_size=4),
)
def test_usage_is_the_integral_over_runs(
    found: list[tuple[int, float, float]], decay: UsageDecay, questions: list[float]
) -> None:
    ledger = UsageLedger()
    numbers = [ledger.account(account) for account in ACCOUNTS]
    starts = [(start, 0, which) for which, start, _ in found]
    ends = [(end, 1, which) for which, _, end in found if end < inf]
    events = sorted(starts + ends)
    for now in sorted(EPOCH + after for after in questions):
        while events and events[0][0] <= now:
            moment, is_end, which = events.pop(0)
            (ledger.ended if is_end else ledger.started)(numbers[which], moment)
        usage = ledger.at(now, decay, AXIS, len(AXIS))
        for place, account in enumerate(ACCOUNTS):
            seconds = sum(integral(start, end, now, decay) for number, start, end in found if number == place)
            amounts = dict(account.requests)
            expected = amounts.get("cpu", 0) * seconds, amounts.get(GPU, 0) * seconds
            assert cpu_and_gpu(usage, account.queue, account.user) == pytest.approx(expected, rel=1e-6, abs=0.1)
        everything = [usage.of([queue]) for queue in usage.queues]
        assert sum(everything, usage.of([])) == pytest.approx(usage.total)
        assert usage.of(["research"], user="bob", namespace="team-a") == pytest.approx(usage.user("research", "bob"))
        assert usage.total == pytest.approx(sum(map(usage.queue, usage.queues)))


def test_runs_that_are_reported_late_count_from_their_start() -> None:
    ledger, decay = UsageLedger(), UsageDecay(window=100.0)
    number = ledger.account(ACCOUNTS[0])
    ledger.started(number, EPOCH + 150)
    assert ledger.at(EPOCH + 200, decay, AXIS, 4).queue("research")[0] == pytest.approx(50_000)
    ledger.started(number, EPOCH + 20)
    ledger.ended(number, EPOCH + 130)
    assert ledger.at(EPOCH + 200, decay, AXIS, 4).queue("research")[0] == pytest.approx(80_000)


@pytest.mark.parametrize("form", [WindowForm.SLIDING, WindowForm.TUMBLING])
def test_window_of_many_half_lives_counts_what_the_half_life_leaves(form: WindowForm) -> None:
    ledger = UsageLedger()
    number = ledger.account(ACCOUNTS[0])
    ledger.started(number, EPOCH - 1800)
    decays = UsageDecay(half_life=60.0), UsageDecay(half_life=60.0, window=31 * 86_400.0, form=form)
    for now in (EPOCH, EPOCH + 3600, EPOCH + 40 * 86_400):
        whole, windowed = (ledger.at(now, decay, AXIS, 4).total[0] for decay in decays)
        assert windowed == pytest.approx(whole)


def test_accounts_that_appear_later_count_with_their_own_resources() -> None:
    ledger, decay = UsageLedger(), UsageDecay()
    for account, gpu_seconds in zip(ACCOUNTS, (0, 40_000, 50_000), strict=True):
        ledger.started(ledger.account(account), EPOCH)
        assert ledger.at(EPOCH + 10, decay, AXIS, 4).total[3] == gpu_seconds


def test_usage_is_summed_up_by_queue_user_and_namespace() -> None:
    ledger = UsageLedger()
    for account in ACCOUNTS:
        ledger.started(ledger.account(account), EPOCH)
    usage = ledger.at(EPOCH + 10, UsageDecay(), AXIS, 4)
    assert list(usage.queue("research")) == [30_000, 0, 10, 40_000]
    assert list(usage.namespace("team-b")) == [0, 0, 0, 10_000]
    assert sorted(usage.users_of("research")) == ["ana", "bob"]
    assert list(usage.queue("unknown")) == [0, 0, 0, 0]


def test_a_half_life_later_a_run_counts_half() -> None:
    ledger, decay = UsageLedger(), UsageDecay(half_life=3600.0)
    number = ledger.account(ACCOUNTS[0])
    ledger.started(number, EPOCH)
    ledger.ended(number, EPOCH + 60)
    at_once = ledger.at(EPOCH + 60, decay, AXIS, 4).total[0]
    assert ledger.at(EPOCH + 60 + 3600, decay, AXIS, 4).total[0] == pytest.approx(at_once / 2)
    assert ledger.at(EPOCH + 60 + 3600 * 200, decay, AXIS, 4).total[0] == pytest.approx(0)
