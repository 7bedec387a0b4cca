"""A job beyond its time budget leaves no trace: the others are placed as in a cluster without it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.time_budget import TimeBudget
from tests.testing.cases.case import configuration, extended, objects
from tests.testing.manifests.builders import Manifest, gang_of, node, pod, priority_class, queue
from tests.testing.random_clusters.effort import examples

CULPRIT = "default/culprit"


class Sand(Plugin):
    """The n-th question about a pod of the culprit takes an hour."""

    name = "sand"
    now = 0.0
    left = 0

    def open(self, session: Session) -> None:
        self._session = session

    def pre_predicate(self, task_class: TaskClass) -> None:
        job = self._session.time_budget.current
        if job is not None and job.key == CULPRIT:
            Sand.left -= 1
            Sand.now += 3600.0 if Sand.left < 0 else 0.0


@st.composite
def worlds(draw: st.DrawFn) -> list[Manifest]:
    sizes = st.lists(st.integers(1, 4), min_size=1, max_size=4)
    found = [queue("default"), priority_class("high", 10), priority_class("low", -10)]
    found += [node(name, draw(st.integers(2, 8))) for name in "abcd"[: draw(st.integers(1, 4))]]
    for place in range(draw(st.integers(1, 5))):
        priority = draw(st.sampled_from((None, "high", "low")))
        found += gang_of(*(pod(size) for size in draw(sizes)), name=f"job-{place}", priority=priority)
    return found


def decided(manifests: list[Manifest], questions: int) -> tuple[object, ...]:
    registry = extended(Sand)
    plugins = ("priority", "gang", "predicates", "nodeorder", "sand")
    policy = parse_configuration(configuration(*plugins, actions="enqueue, allocate, backfill, preempt"), registry)
    cluster = Cluster(("stromboli", "volcano"))
    for entry in objects(manifests):
        cluster.apply(entry)
    Sand.now, Sand.left = 0.0, questions
    budget = TimeBudget(lambda: Sand.now, job=60.0)
    session = Session(cluster.snapshot(), Program(policy, registry), time_budget=budget)
    session.run()
    assert (CULPRIT in session.too_expensive) == (Sand.left < 0 and bool(session.jobs[CULPRIT].pending_count))
    binds = sorted((each.name, each.node) for statement in session.decisions.binds for each in statement)
    others = [(key, status.phase) for key, status in session.statuses.items() if key != CULPRIT]
    is_culprit_placed = any(each[0].startswith("culprit") for each in binds)
    return binds, sorted(others), is_culprit_placed


@examples(120)
@given(worlds(), st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(0, 3), st.booleans())
def test_others_are_placed_as_without_the_expensive_job(
    manifests: list[Manifest], sizes: list[int], questions: int, is_urgent: bool
) -> None:
    culprit = gang_of(*(pod(size) for size in sizes), name="culprit", priority="high" if is_urgent else None)
    *result, is_culprit_placed = decided([*manifests, *culprit], questions)
    if not is_culprit_placed:
        assert result == list(decided(manifests, questions)[:2])
