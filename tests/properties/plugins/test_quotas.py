"""resourcequota in random clusters: no job is admitted beyond a quota."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import group, node, quota
from tests.testing.random_clusters.effort import examples

amounts = st.integers(0, 8)
jobs = st.lists(st.tuples(st.integers(1, 3), amounts, st.booleans()), min_size=1, max_size=6)


@examples(100)
@given(jobs=jobs, hard=st.integers(0, 16), used=amounts, pods=st.integers(0, 8), cycles=st.integers(1, 3))
def test_admitted_jobs_fit_the_quota(
    jobs: list[tuple[int, int, bool]], hard: int, used: int, pods: int, cycles: int
) -> None:
    groups = [
        group(f"job{place}", minimum, resources={"cpu": cpu}, phase="Inqueue" if admitted else None)
        for place, (minimum, cpu, admitted) in enumerate(jobs)
    ]
    limits = quota("q", {"requests.cpu": hard, "pods": pods}, {"requests.cpu": used})
    plan = Case("", node("a", 99), limits, groups, binds="", cycles=cycles).plan(configuration("gang", "resourcequota"))
    let_in = [job for place, job in enumerate(jobs) if plan.groups[f"default/job{place}"].phase == "Inqueue"]
    news = [job for job in let_in if not job[2]]
    if any(cpu for _, cpu, _ in news):
        assert used + sum(cpu for _, cpu, _ in let_in) <= hard
    if news:
        assert sum(minimum for minimum, _, _ in let_in) <= pods
    for place, (minimum, cpu, admitted) in enumerate(jobs):
        if not admitted and plan.groups[f"default/job{place}"].phase == "Pending":
            short_of_cpu = cpu and used + sum(c for _, c, _ in let_in) + cpu > hard
            assert short_of_cpu or sum(m for m, _, _ in let_in) + minimum > pods
