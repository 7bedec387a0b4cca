"""usage in random clusters: a placed pod counts for the next one, in batches as one by one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.properties.placement.test_batching import chosen_rows, steps
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import Manifest, gang, node, running
from tests.testing.manifests.node_usage import NOON, measured
from tests.testing.random_clusters.effort import examples

LETTERS = "abcdef"
#: Long before the measurement, shortly before it, and at the same time.
BEGAN = ("2026-03-01T11:00:00Z", "2026-03-01T11:59:50Z", NOON)
estimators = st.fixed_dictionaries(
    {},
    optional={
        "request_ratio": st.floats(0, 2),
        "burst_ratio": st.floats(0, 1),
        "risk_threshold": st.floats(0, 1),
        "risk_factor": st.floats(0.5, 3),
        "be_cpu": st.sampled_from(["100m", "1"]),
    },
)


def gigabytes(most: int) -> st.SearchStrategy[str]:
    return st.integers(0, most).map(lambda number: f"{number}Gi")


@st.composite
def measured_worlds(draw: st.DrawFn) -> list[Manifest]:
    """Draw nodes of which some are measured, pods running since different times, and waiting jobs."""
    names = LETTERS[: draw(st.integers(1, 6))]
    world: list[Any] = [node(name, draw(st.integers(4, 32)), f"{draw(st.integers(8, 64))}Gi") for name in names]
    watched = [name for name in names if draw(st.booleans())]
    world += [measured(name, f"{draw(st.integers(0, 24_000))}m", draw(gigabytes(32))) for name in watched]
    for number in range(draw(st.integers(0, 3))):
        places = draw(st.text(names, min_size=1, max_size=3))
        began = draw(st.sampled_from(BEGAN))
        world.append(running(places, cpu=draw(st.integers(0, 2)), name=f"old-{number}", placed=began))
    for number in range(draw(st.integers(1, 3))):
        facts = {"cpu": draw(st.sampled_from(["0", "250m", "1", "3"])), "memory": draw(gigabytes(3))}
        world.append(gang(draw(st.integers(1, 30)), name=f"new-{number}", minimum=0, **facts))
    return list(flattened(world))


def session_of(world: list[Manifest], estimator: dict[str, Any]) -> Session:
    conf = configuration("predicates", plugin("usage", {"estimator": estimator} if estimator else None))
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    return Session(PlannedCluster(objects(world), program).snapshot(), program)


@examples(40)
@given(world=measured_worlds(), estimator=estimators, wanted=steps)
def test_batch_equals_one_by_one(world: list[Manifest], estimator: dict[str, Any], wanted: Any) -> None:
    jobs_in_turn = chosen_rows(session_of(world, estimator), wanted, 1)
    at_once = chosen_rows(session_of(world, estimator), wanted, 99)
    assert at_once == jobs_in_turn


@examples(25)
@given(world=measured_worlds(), estimator=estimators, wanted=steps)
def test_undone_placement_leaves_no_usage(world: list[Manifest], estimator: dict[str, Any], wanted: Any) -> None:
    session = session_of(world, estimator)
    usage = session.program.plugins["usage"]
    if not usage.is_informed:  # type: ignore[attr-defined]
        return
    unmeasured = usage.unmeasured  # type: ignore[attr-defined]
    before = unmeasured.cpu.tolist(), unmeasured.memory.tolist()
    chosen_rows(session, wanted, 99)
    for statement in session.kept:
        statement.rollback(0)
    assert (unmeasured.cpu.tolist(), unmeasured.memory.tolist()) == before


@examples(25)
@given(world=measured_worlds(), estimator=estimators)
def test_no_pod_is_placed_on_an_overloaded_node(world: list[Manifest], estimator: dict[str, Any]) -> None:
    session = session_of(world, estimator)
    session.run()
    usage, rows = session.snapshot.usage, session.ledger.all_rows
    taken = {session.nodes.index[bind.node] for statement in session.decisions.binds for bind in statement}
    for row in taken:
        if usage is not None and usage.known(session.now)[row]:
            assert usage.cpu[row] <= 0.8
            assert usage.memory[row] <= 0.8
        assert min(rows.idle(CPU)[row], rows.idle(MEMORY)[row]) >= 0
