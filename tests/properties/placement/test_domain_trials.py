"""Trials inside domains leave no trace, in any order of objects; and jobs return to their previous domain."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.objects.pod_groups.previous_domains import placement_record_of
from stromboli.core.actions.allocate.domain_search import DomainSearch
from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.jobs.job import Job
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.topology.previous_domains import current_domains
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.properties.placement.test_levels import AWARE, networks
from tests.testing.cases.case import BUILT_IN, Case, flattened, key_of, objects
from tests.testing.manifests.builders import Manifest
from tests.testing.random_clusters.effort import examples


def opened(world: list[Any]) -> Session:
    program = Program(parse_configuration(AWARE, BUILT_IN), BUILT_IN)
    return Session(PlannedCluster(objects(flattened(world)), program).snapshot(), program)


def still_waiting(session: Session, job: Job) -> list[str]:
    return sorted(task.key for task in job.tasks.values() if session.ledger.is_pending(task))


@examples(60)
@given(networks(), st.data())
def test_undone_trial_leaves_no_trace(worlds: tuple[list[Any], list[Any]], data: st.DataObject) -> None:
    session = opened(worlds[data.draw(st.integers(0, 1))])
    for job in session.waiting:
        before, search = session.ledger.fingerprint(), DomainSearch(session, job)
        search.plan(session.pending(job))
        assert session.ledger.fingerprint() == before, "books and counts, also those of sub-jobs"
        pending_tasks = PendingTasks(session.pending(job))
        search.allocate(pending_tasks)
        assert sorted(task.key for task in pending_tasks.rest) == still_waiting(session, job)


@examples(80)
@given(networks(), st.data())
def test_order_of_domains_nodes_and_sub_jobs_does_not_matter(
    worlds: tuple[list[Any], list[Any]], data: st.DataObject
) -> None:
    world = list(flattened(worlds[data.draw(st.integers(0, 1))]))
    shuffled = data.draw(st.permutations(world))
    assert decided(Case("", shuffled, binds="", conf=AWARE).plan()) == decided(
        Case("", world, binds="", conf=AWARE).plan()
    )


def decided(plan: SchedulingPlan) -> object:
    homes = {key: current_domains(plan.session, job) for key, job in plan.session.jobs.items()}
    return plan.binds, plan.pipelined, homes


@examples(80)
@given(networks(), st.data())
def test_job_without_pods_returns_to_its_previous_domain(
    worlds: tuple[list[Any], list[Any]], data: st.DataObject
) -> None:
    """All other jobs stay in place, so that its capacity is free."""
    world = list(flattened(worlds[data.draw(st.integers(0, 1))]))
    plan = Case("", world, binds="", conf=AWARE).plan()
    homes = {key: current_domains(plan.session, job) for key, job in plan.session.jobs.items()}
    for key in [key for key, home in homes.items() if key in home]:
        session = Case("", returning(world, plan, key, homes[key]), binds="", conf=AWARE).plan().session
        tree = session.snapshot.network_of(session.jobs[key])
        placed = {session.ledger.row_of(task) for task in session.jobs[key].tasks.values()} - {-1}
        assert tree.index[homes[key][key]] in tree.around[tree.around_nodes(placed)]


def returning(world: list[Manifest], plan: SchedulingPlan, key: str, homes: Any) -> list[Manifest]:
    """Return the planned cluster, except for one job whose pods wait again."""
    return [_as_planned(document, plan, key, homes) for document in world]


def _as_planned(document: Manifest, plan: SchedulingPlan, key: str, homes: Any) -> Manifest:
    metadata = document["metadata"]
    if document["kind"] == "PodGroup" and key_of(document) == key:
        annotations = {**metadata.get("annotations", {}), **placement_record_of(homes, key)}
        return {**document, "metadata": {**metadata, "annotations": annotations}}
    if document["kind"] != "Pod" or key_of(document) not in plan.binds:
        return document
    if f"default/{metadata['annotations']['scheduling.k8s.io/group-name']}" == key:
        return document
    spec = {**document["spec"], "nodeName": plan.binds[key_of(document)]}
    return {**document, "spec": spec, "status": {"phase": "Running"}}
