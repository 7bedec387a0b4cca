"""Records are idempotent and commute: the order and number of reports does not matter."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stromboli.history.query import HistoryFilter, JobHistory, pods_of, query
from stromboli.history.records import RecordedJob, RecordedPod
from tests.testing.histories import START, example_records, opened, recorded_job, recorded_pod, write_records
from tests.testing.random_clusters.effort import examples


def jobs_after(path: Path, *batches: tuple[list[RecordedJob], list[RecordedPod]]) -> list[JobHistory]:
    for jobs, pods in batches:
        write_records(str(path), jobs, pods)
    with opened(path) as database:
        return query(database, HistoryFilter()).jobs


def test_texts_of_users_are_kept_without_nul(tmp_path: Path) -> None:
    """PostgreSQL stores no NUL, and rejects everything that is written with it."""
    jobs = [recorded_job("odd", user_name="a\0na", queue="\0"), recorded_job("plain", user_name=r"b\u0000en")]
    found = {job.name: job for job in jobs_after(tmp_path / "history.db", (jobs, []))}
    assert (found["odd"].user, found["odd"].queue, found["plain"].user) == ("ana", "", r"b\u0000en")


STATES = [
    pytest.param([], None, "Pending", id="no pods yet"),
    pytest.param([], 9.0, "Cancelled", id="deleted without pods"),
    pytest.param([recorded_pod("job")], None, "Pending", id="waits"),
    pytest.param([recorded_pod("job")], 9.0, "Cancelled", id="deleted while it waits"),
    pytest.param([recorded_pod("job", start=1)], None, "Running", id="runs"),
    pytest.param([recorded_pod("job", start=1, end=5, outcome="Succeeded")], None, "Succeeded", id="succeeded"),
    pytest.param([recorded_pod("job", start=1, end=5, outcome="Failed")], None, "Failed", id="failed"),
    pytest.param([recorded_pod("job", start=1, end=5)], 9.0, "Cancelled", id="deleted while it runs"),
    pytest.param([recorded_pod("job", start=1, end=5)], None, "Pending", id="suspended"),
    pytest.param([recorded_pod("job", start=1, end=5, outcome="Unknown")], 9.0, "Unknown", id="gone at a restart"),
    pytest.param(
        [recorded_pod("job", start=1, evicted=4, end=5, outcome="Failed", reason="preempt")], None, "Evicted",
        id="evicted",
    ),
    pytest.param(
        [recorded_pod("job", start=1, evicted=4, end=5), recorded_pod("job", 1, start=6)], None, "Running",
        id="evicted and started again",
    ),
    pytest.param(
        [recorded_pod("job", start=1, end=5, outcome="Failed"), recorded_pod("job", 1)], None, "Pending",
        id="failed and is retried",
    ),
    pytest.param(
        [recorded_pod("job", start=1, end=5, outcome="Failed"),
         recorded_pod("job", 1, start=6, end=9, outcome="Succeeded")], None, "Succeeded",
        id="failed and then succeeded",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("pods", "deleted", "state"), STATES)
def test_state_of_a_job_follows_from_its_pods(
    pods: list[RecordedPod], deleted: float | None, state: str, tmp_path: Path
) -> None:
    (job,) = jobs_after(tmp_path / "history.db", ([recorded_job("job", deleted=deleted and START + deleted)], pods))
    assert job.state == state
    assert (job.ended is None) == (state in ("Running", "Pending"))


@pytest.mark.parametrize("pods", [[], [recorded_pod("job", start=1, end=5)]], ids=["before its start", "while it runs"])
def test_suspended_job_is_not_cancelled(pods: list[RecordedPod], tmp_path: Path) -> None:
    deleted, path = START + 9.0, tmp_path / "history.db"
    (job,) = jobs_after(path, ([recorded_job("job", deleted=deleted, suspended=deleted)], pods))
    assert (job.state, job.ended is None) == ("Suspended", False)


def test_job_starts_when_its_minimum_is_placed_and_ends_with_its_last_pod(tmp_path: Path) -> None:
    starts = (3.0, 10.0, 20.0, 40.0)
    pods = [recorded_pod("job", n, start=at, end=100 + n, outcome="Succeeded") for n, at in enumerate(starts)]
    (job,) = jobs_after(tmp_path / "history.db", ([recorded_job("job", minimum=3)], pods))
    assert (job.waited(0), job.ran(0)) == (20.0, 83.0)
    assert job.requests == {"cpu": 32.0, "memory": 4 * 32.0 * 2**30, "nvidia.com/gpu": 4.0}


@settings(examples(25))
@given(st.randoms(use_true_random=False))
def test_order_repetition_and_batches_of_records_do_not_matter(random: Random) -> None:
    jobs, pods = example_records()
    parts = [part for pod in pods for part in split(pod)]
    repeated = parts + random.sample(parts, 20)
    random.shuffle(repeated)
    cut = random.randint(0, len(repeated))
    with TemporaryDirectory() as folder:
        straight = jobs_after(Path(folder, "one.db"), (jobs, pods))
        mixed = jobs_after(Path(folder, "two.db"), (jobs, repeated[:cut]), (jobs[:2], repeated[cut:]))
        assert mixed == straight
        with opened(Path(folder, "one.db")) as one, opened(Path(folder, "two.db")) as two:
            assert [pods_of(one, job.uid) for job in straight] == [pods_of(two, job.uid) for job in straight]


def split(pod: RecordedPod) -> list[RecordedPod]:
    """Return the reports of a pod in the order in which a scheduler makes them: created, started, evicted, ended."""
    created = RecordedPod(pod.uid, pod.job, pod.name, None, pod.template, pod.requests, pod.created)
    parts = [created]
    if pod.started is not None:
        parts.append(RecordedPod(pod.uid, pod.job, pod.name, pod.node, started=pod.started))
    if pod.evicted is not None:
        parts.append(RecordedPod(pod.uid, pod.job, pod.name, evicted=pod.evicted, reason=pod.reason,
                                 preemptor=pod.preemptor))  # fmt: skip
    if pod.ended is not None:
        parts.append(RecordedPod(pod.uid, pod.job, pod.name, ended=pod.ended, outcome=pod.outcome, cause=pod.cause))
    return parts


def test_pod_that_is_unknown_and_names_no_job_is_ignored(tmp_path: Path) -> None:
    stray = RecordedPod("stray", "", "stray", ended=1.0)
    (job,) = jobs_after(tmp_path / "history.db", ([recorded_job("job")], [stray]))
    assert job.pods == 0
