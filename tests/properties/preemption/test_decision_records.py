"""Decision records in random clusters: collecting them changes no decision, and they cover every eviction."""

from __future__ import annotations

import gc
import weakref

from hypothesis import given

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.evictions import accounts_of
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.properties.preemption.test_victims import Contest, contests
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import gang, nodes, priority_class, running
from tests.testing.random_clusters.effort import examples

CONTESTS = contests()
FULL = [
    nodes(2, 1), priority_class("high", 9), running("aa", name="old"), gang(1, 1, name="new", priority="high"),
    gang(1, 5, name="huge", priority="high"),
]  # fmt: skip
PREEMPT = configuration(
    "priority", plugin("gang", enablePreemptable=False), "predicates", actions="allocate, preempt"
)  # fmt: skip


def program_of(conf: str) -> Program:
    return Program(parse_configuration(conf, BUILT_IN), BUILT_IN)


def decided(session: Session) -> object:
    """Return all decisions of a cycle, without messages."""
    decisions = session.decisions
    return (
        [[(bind.key, bind.node) for bind in statement] for statement in decisions.binds],
        [(each.task.key, each.reason, each.preemptor) for each in decisions.evictions],
        decisions.nominations,
        {key: [reason.code for reason in refusal.reasons] for key, refusal in session.refusals.items()},
    )


@examples(80)
@given(CONTESTS)
def test_collecting_records_changes_no_decision(contest: Contest) -> None:
    program, given_objects = program_of(contest.conf), objects(contest.manifests)
    silent, recording = PlannedCluster(given_objects, program), PlannedCluster(given_objects, program)
    for _ in range(2):
        assert decided(recording.run_cycle(DecisionRecords())) == decided(silent.run_cycle())


@examples(50)
@given(CONTESTS)
def test_every_eviction_is_recorded_once_with_preemptor_and_justification(contest: Contest) -> None:
    session = PlannedCluster(objects(contest.manifests), program_of(contest.conf)).run_cycle(DecisionRecords())
    evicted = {each.task.key for each in session.decisions.evictions}
    records = accounts_of(session)
    assert records.keys() == evicted
    for record in records.values():
        assert record.preemptor_pod in {task.key for task in session.jobs[record.preemptor].tasks.values()}
        assert record.decisive is not None
        assert record.decisive.right or record.decisive.plugin == "gang"
        stays = [name for objection in record.protected for name in objection.objects]
        assert len(stays) == len(set(stays))
        assert record.pod not in stays


@examples(50)
@given(CONTESTS)
def test_every_failed_preemption_names_a_rule(contest: Contest) -> None:
    session = PlannedCluster(objects(contest.manifests), program_of(contest.conf)).run_cycle(DecisionRecords())
    assert session.records is not None
    for refusals in session.records.refusals.values():
        for refusal in refusals:
            assert all(each.objects and each.why for each in refusal.objections)
            assert refusal.objections or "no running pod" in refusal.reason.detail


def test_no_records_are_kept_unless_requested() -> None:
    program = program_of(PREEMPT)
    session = PlannedCluster(objects(flattened(FULL)), program).run_cycle()
    assert session.decisions.evictions
    assert (session.records, session.eviction_notes) == (None, {})
    gone = weakref.ref(session)
    del session
    PlannedCluster(objects(flattened(nodes(1, 1))), program).run_cycle()
    gc.collect()
    assert gone() is None, "the next cycle leaves nothing of the last one"
