"""The cache matches its objects, and a snapshot is isolated from later changes."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import program_of
from tests.testing.random_clusters.histories import Event, carry_on, cluster_of, deliver, history, started
from tests.testing.random_clusters.worlds import SmallWorld, Traits, social_worlds, worlds

SMALL = Traits(most_nodes=4)
#: A session belongs to the program that was opened last, so sessions that are compared have one each.
ONE_PROGRAM, OTHER_PROGRAM = program_of(), program_of()


@examples(100)
@given(worlds(SMALL), worlds(SMALL), st.randoms(use_true_random=False))
def test_only_final_objects_count(past: SmallWorld, present: SmallWorld, random: Random) -> None:
    if random.random() < 0.5:
        present.groups.pop()  # its pods remain
    cluster = Cluster()
    deliver(cluster, history(past, present, random))
    experienced = cluster.snapshot()
    fresh = cluster_of(present.objects).snapshot()
    assert summary_of(experienced, fresh.terms.counted) == summary_of(fresh)


def decisions(session: Session) -> tuple[object, ...]:
    """Return all decisions and messages, in order."""
    binds = [[(bind.key, bind.node) for bind in statement] for statement in session.decisions.binds]
    statuses = {key: (status.phase, list(status.sentences)) for key, status in session.statuses.items()}
    return binds, statuses, session.warnings


def check_undisturbed(world: SmallWorld, events: Iterable[Event]) -> None:
    """A session reads the same amounts and decides the same, whatever happens to the cluster after its snapshot."""
    cluster = cluster_of(world.objects)
    running = Session(cluster.snapshot(), ONE_PROGRAM)
    books = running.ledger.fingerprint()
    carry_on(cluster, events)
    cluster.snapshot()
    assert running.ledger.fingerprint() == books
    running.run()
    undisturbed = Session(cluster_of(world.objects).snapshot(), OTHER_PROGRAM)
    undisturbed.run()
    assert decisions(running) == decisions(undisturbed)


@examples(60)
@given(worlds(SMALL), worlds(SMALL), st.randoms(use_true_random=False))
def test_running_session_is_isolated_from_changes(before: SmallWorld, after: SmallWorld, random: Random) -> None:
    check_undisturbed(before, history(before, after, random))


@examples(40)
@given(social_worlds(), st.randoms(use_true_random=False))
def test_running_session_is_isolated_from_pod_changes(world: SmallWorld, random: Random) -> None:
    """Nothing else changes, so that the cache has no reason to rebuild."""
    check_undisturbed(
        world, [Event(started(pod, "x1"), random.random() < 0.3, random.random() < 0.3) for pod in world.pods]
    )


@examples(60)
@given(worlds(SMALL))
def test_decisions_of_a_session_are_invisible_until_executed(world: SmallWorld) -> None:
    cluster = cluster_of(world.objects)
    before = summary_of(cluster.snapshot())
    Session(cluster.snapshot(), ONE_PROGRAM).run()
    assert summary_of(cluster.snapshot()) == before
