"""The lower bound of preemption cost is the same for all nodes at once and for each node alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.preemption import PreemptionRules, ThrashGuard, ThrashGuardArguments
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.session.session import Session
from tests.properties.preemption.test_victims import Contest, contests, world_of
from tests.testing.random_clusters.effort import examples


def rules_of(session: Session, question: str) -> PreemptionRules:
    def may_target(preemptor: Job, victim: Job) -> bool:
        return (victim.queue == preemptor.queue) == (question == "preemptable")

    return PreemptionRules(
        action="test",
        question=question,
        statuses=(TaskStatus.BOUND, TaskStatus.RUNNING),
        allowed=session.preemptable,
        may_target=may_target,
        own_queue=question == "preemptable",
        thrash_guard=ThrashGuard(session, ThrashGuardArguments({"thrashingWindow": "0s"})),
        may_preempt=lambda _: None,
    )


@examples(150)
@given(contests(), st.sampled_from(("preemptable", "reclaimable")), st.booleans())
def test_bounds_of_all_nodes_equal_bounds_of_each_node(contest: Contest, question: str, by_victims_alone: bool) -> None:
    world = world_of(contest)
    session = Session(world.snapshot(), world._program)
    for job in session.waiting:
        pool = CandidatePool(session, rules_of(session, question), session.jobs.values())
        if pool.depends_on_preemptor(job):
            continue
        for task in session.pending(job):
            ranking = NodeRanking(session, pool, task, by_victims_alone=by_victims_alone)
            alone = {row: ranking.bound(row) for row in range(len(session.nodes))}
            possible = [row for row, bound in alone.items() if bound is not None]
            assert dict(ranking._bounds_over_columns(possible)) == {row: alone[row] for row in possible}
            assert {row for _, row, _ in ranking._heap} <= set(possible)
