"""Victims among equal jobs of one pod are found directly: the same as by units, and in the same order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.preemption.units import UnitBuilder
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import program_of, session_of

PROGRAM = program_of(DEFAULT_TEXT.replace("enqueue, allocate, backfill", "allocate, preempt"))
MEMBERS = st.tuples(st.sampled_from(["600m", "1"]), st.sampled_from(["low", "lower"]), st.integers(0, 5))


def _job(name: str, cpu: str, priority: str, second: int, node: str = "") -> Iterator[kube.KubeObject]:
    phase = "Running" if node else "Inqueue"
    yield objects.group(name, phase=phase, min_member=1, queue="default", priority_class_name=priority)
    spec = objects.template({"cpu": cpu}, node_name=node or None)
    created = f"2026-01-01T00:00:0{second}Z"
    yield objects.pod(f"{name}-0", spec, group=name, phase="Running" if node else "Pending", created=created)


@st.composite
def crowded(draw: st.DrawFn) -> list[kube.KubeObject]:
    """Nodes of 4 cpu with small jobs, and urgent jobs that need several of these gone."""
    found: list[kube.KubeObject] = [objects.queue("default"), objects.priority_class("urgent", 100)]
    found += [objects.priority_class("low", 10), objects.priority_class("lower", 5)]
    for number in range(draw(st.integers(1, 3))):
        found.append(objects.node(f"node-{number}", {"cpu": "4", "pods": "20"}))
        for place, (cpu, priority, second) in enumerate(draw(st.lists(MEMBERS, min_size=2, max_size=4))):
            found += _job(f"small-{number}-{place}", cpu, priority, second, f"node-{number}")
    for number, cpu in enumerate(draw(st.lists(st.sampled_from(["2", "3", "4"]), min_size=1, max_size=4))):
        found += _job(f"urgent-{number}", cpu, "urgent", 0)
    return found


def _decisions(world: list[kube.KubeObject]) -> object:
    session = session_of(world, PROGRAM)
    session.run()
    evictions = [(each.task.key, each.preemptor) for each in session.decisions.evictions]
    phases = {key: (status.phase, status.summary) for key, status in session.statuses.items()}
    return evictions, session.decisions.nominations, phases, session.ledger.fingerprint()


@examples(60)
@given(crowded())
def test_victims_among_equal_jobs_are_those_found_by_units(world: list[kube.KubeObject]) -> None:
    directly = _decisions(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UnitBuilder, "are_single_and_equal", lambda *_: False)
        assert _decisions(world) == directly
