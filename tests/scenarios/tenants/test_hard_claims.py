"""Claims whose devices are hard to select cost one search per kind of node, not one per node and cycle."""

from __future__ import annotations

import pytest

from stromboli.core.model.devices import search_memory
from stromboli.core.model.devices.device_search import Search
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, gang_of, node, pod
from tests.testing.manifests.resource_claims import (
    DRIVER,
    claim_spec,
    claiming,
    device,
    device_class,
    distinct,
    exactly,
    offer,
    template,
)
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, default_program

NODES, SHAPES = 12, 3
PROGRAM = default_program()


def manifests(*, slots: int, wanted: int) -> list[Manifest]:
    """Nodes with two devices per slot, and claims for devices of different slots, each of another shape."""
    made = [device_class()]
    for place in range(NODES):
        devices = [device(f"d{n}", slot=n // 2, uuid=f"{place}-{n}") for n in range(2 * slots)]
        made += [node(f"n{place}"), offer(f"n{place}", *devices)]
    for shape in range(SHAPES):
        spec = claim_spec(exactly(wanted, name=f"r{shape}"), constraints=[distinct(f"{DRIVER}/slot")])
        claims = claiming(dev=f"each-{shape}")
        made += [template(spec, f"each-{shape}"), *gang_of(pod(resourceClaims=claims), name=f"gang-{shape}")]
    return made


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps of each search."""
    steps: list[int] = []
    find = Search.find

    def counted(search: Search, demands: object) -> object:
        before = search.steps
        try:
            return find(search, demands)  # type: ignore[arg-type]
        finally:
            steps.append(before - max(search.steps, 0))

    monkeypatch.setattr(Search, "find", counted)
    return steps


class Cycles:
    """Cycles over the same cluster: decisions are not executed."""

    def __init__(self, entries: list[Manifest]) -> None:
        world = PlannedCluster(objects(entries), PROGRAM, scheduler_names=SCHEDULER_NAMES)
        self._cluster = world._cluster

    def run(self) -> Session:
        session = Session(self._cluster.snapshot(), PROGRAM)
        session.run()
        return session

    def delete_pods(self) -> None:
        for deleted in self._cluster.pods.all():
            self._cluster.remove(deleted)
        self._cluster.forget_classes()


def reasons(session: Session) -> set[str]:
    refusals = (session.search.refusals(each) for job in session.jobs.values() for each in job.classes)
    return {str(reason.code) for refusal in refusals for reason, _ in refusal.groups}


def test_unsatisfiable_claim_is_searched_once_for_equal_nodes_and_not_again(searches: list[int]) -> None:
    cycles = Cycles(manifests(slots=4, wanted=5))
    assert reasons(cycles.run()) == {"ClaimedDevicesDoNotFit"}
    assert len(searches) == SHAPES
    assert reasons(cycles.run()) == {"ClaimedDevicesDoNotFit"}
    assert len(searches) == SHAPES


def test_cycle_postpones_searches_beyond_its_limit(searches: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cycle continues, so that every claim is decided in the end."""
    monkeypatch.setattr(search_memory, "MAX_STEPS_PER_CYCLE", 600)
    monkeypatch.setattr(search_memory, "MAX_FURTHER_STEPS", 50)
    cycles = Cycles(manifests(slots=5, wanted=6))
    assert "ClaimedDevicesUndecided" in reasons(cycles.run())
    assert sum(searches) < 600 + SHAPES * 50 + 10
    assert "ClaimedDevicesUndecided" in reasons(cycles.run())
    assert reasons(cycles.run()) == {"ClaimedDevicesDoNotFit"}


def test_what_searches_found_about_nodes_is_dropped_with_the_pods() -> None:
    cycles = Cycles(manifests(slots=4, wanted=5))
    table = cycles.run().ledger.claims.table
    assert len(table.kinds) == SHAPES
    cycles.delete_pods()
    assert not table.kinds


def test_satisfiable_claims_are_bound_with_devices_of_their_own_nodes() -> None:
    session = Cycles(manifests(slots=4, wanted=4)).run()
    placements = [placement for statement in session.decisions.binds for placement in statement]
    assert len(placements) == SHAPES
    for placement in placements:
        assert placement.devices is not None
        (choice,) = placement.devices.choices
        assert {each.name.pool for each in choice.devices} == {placement.node}
        assert len({each.name for each in choice.devices}) == 4
