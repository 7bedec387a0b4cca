"""A dump leads to the same decisions as its cluster, regardless of the cluster's history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.session.session import Session
from stromboli.planner.replay import changed_decisions, recorded_decisions, replay
from tests.testing.placements import placement
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import program_of
from tests.testing.random_clusters.histories import cluster_of, deliver, history, identity
from tests.testing.random_clusters.worlds import SmallWorld, Traits, worlds

SMALL = Traits(most_nodes=5)
#: A session belongs to the program that was opened last, so sessions that are compared have one each.
HERE, ELSEWHERE = program_of(), program_of()


def back_from_file(dump: Dump) -> Dump:
    with TemporaryDirectory() as folder:
        write_dump(Path(folder) / "dump", dump)
        return read_dump(Path(folder) / "dump")


def decide_something(cluster: Cluster, random: Random) -> None:
    """Some decisions of a cycle are in progress, some are released again."""
    session = Session(cluster.snapshot(), HERE)
    session.run()
    for bind in (bind for statement in session.decisions.binds for bind in statement):
        if random.random() < 0.5:
            cluster.assumptions.assume(placement(bind.uid, bind.node))
    for key, status in session.statuses.items():
        if random.random() < 0.5:
            cluster.groups.set_phase(key, status.phase, hold=random.random() < 0.5)
    for pod in cluster.pods.all():
        if pod.spec.node_name and random.random() < 0.1:
            cluster.assumptions.assume_evicted(pod.metadata.uid)
        elif random.random() < 0.1:
            cluster.assumptions.start_backoff(pod.metadata.uid)


@examples(60)
@given(worlds(SMALL), worlds(SMALL), st.integers(0, 1 << 32).map(Random), st.sampled_from([0, 7]))
def test_dump_leads_to_the_same_decisions(past: SmallWorld, present: SmallWorld, random: Random, seed: int) -> None:
    cluster = Cluster(seed=seed)
    deliver(cluster, history(past, present, random))
    decide_something(cluster, random)
    contents = contents_of(cluster)
    session = Session(cluster.snapshot(1_000.0), HERE, seed=seed)
    session.run()
    dump = Dump(contents, 1_000.0, DEFAULT_TEXT, {}, recorded_decisions(session))
    assert changed_decisions(dump.decisions or {}, replay(back_from_file(dump), ELSEWHERE)) == []


@examples(20)
@given(worlds(SMALL))
def test_dump_contains_the_cluster(world: SmallWorld) -> None:
    contents = contents_of(cluster_of(world.objects))
    back = back_from_file(Dump(contents)).contents
    assert sorted(back.objects, key=identity) == sorted(contents.objects, key=identity)
    assert replace(back, objects=()) == replace(contents, objects=())
