"""cdp in random clusters: no pod is evicted before its cool-down ends, and every pod may be evicted after it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import gang, namespace, nodes, running
from tests.testing.random_clusters.effort import examples

#: The minute before the hour at which a pod was placed, and its cool-down time in minutes; 0 for none.
pods = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 60)), min_size=1, max_size=6)
actions = st.sampled_from(["evict-preemptable", "evict-reclaimable", "evict-for-preemption", "evict-for-reclaim"])


@examples(60)
@given(pods=pods, action=actions, above=st.booleans())
def test_victims_have_cooled_down(pods: list[tuple[int, int]], action: str, above: bool) -> None:
    clock = {**namespace("clock"), "metadata": {"name": "clock", "creationTimestamp": "2026-03-01T11:00:00Z"}}
    standing = [
        running(
            "a", name=f"pod{place}", cpu=1, placed=f"2026-03-01T10:{minute:02}:00Z",
            annotations={"volcano.sh/cooldown-time": f"{cooldown}m"} if cooldown else None,
        )
        for place, (minute, cooldown) in enumerate(pods)
    ]  # fmt: skip
    tiers = (["conformance"], ["cdp"]) if above else (["cdp"], ["conformance"])
    conf = configuration(*tiers, actions=action)
    plan = Case("", clock, nodes(9, 1), standing, gang(1, cpu=9, name="late"), binds="", extensions=PROBE_ACTIONS).plan(
        conf
    )
    gone = {f"default/pod{place}-task-0" for place, (minute, cooldown) in enumerate(pods) if minute + cooldown <= 60}
    assert set(plan.evictions) == gone
