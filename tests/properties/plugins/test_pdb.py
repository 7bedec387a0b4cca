"""pdb in random clusters: allowed victims may all be evicted together, and no pod is protected without need."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import budget, gang, nodes, running
from tests.testing.random_clusters.effort import examples

APPS = ("web", "database", "none")
actions = st.sampled_from(["evict-preemptable", "evict-reclaimable", "evict-for-preemption", "evict-for-reclaim"])


@examples(80)
@given(
    pods=st.lists(st.sampled_from(APPS), min_size=1, max_size=10),
    web=st.integers(-1, 6),
    database=st.integers(-1, 6),
    action=actions,
)
def test_budgets_are_used_fully_and_never_exceeded(pods: list[str], web: int, database: int, action: str) -> None:
    allowed = {"web": web, "database": database}
    standing = [running("a", name=f"pod{place}", labels={"app": app}) for place, app in enumerate(pods)]
    budgets = [budget(app, number, {"app": app}) for app, number in allowed.items()]
    conf = configuration("pdb", actions=action)
    case = Case("", nodes(10, 1), standing, budgets, gang(1, cpu=9, name="late"), binds="", extensions=PROBE_ACTIONS)
    gone = set(case.plan(conf).evictions)
    for app in APPS:
        members = {f"default/pod{place}-task-0" for place, each in enumerate(pods) if each == app}
        most = len(members) if app == "none" else max(allowed[app], 0)
        assert len(members & gone) == min(len(members), most)
