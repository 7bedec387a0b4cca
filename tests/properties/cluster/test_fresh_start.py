"""A rebuild drops unused state and changes nothing else; terms are counted correctly on first use."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube import KubeObject
from tests.testing.placements import placement
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.histories import Event, cluster_of, deliver, history, identity
from tests.testing.random_clusters.worlds import SmallWorld, Traits, social_worlds, worlds

FEW = Traits(most_nodes=3, pod_rules=2)
#: From a seed: a history makes more choices than an example may hold.
randoms = st.integers(0, 1 << 32).map(Random)


def decide(cluster: Cluster, random: Random) -> None:
    """Some pods are being bound, evicted or in backoff; some phases are being written."""
    nodes = [*cluster.nodes.entries]
    for pod in cluster.pods.all():
        action = random.choice((cluster.assumptions.start_backoff, cluster.assumptions.assume_evicted, None, None))
        if not pod.spec.node_name and random.random() < 0.3:
            cluster.assumptions.assume(placement(pod.metadata.uid, random.choice(nodes)))
        elif action is not None:
            action(pod.metadata.uid)
    for key in cluster.groups:
        if random.random() < 0.3:
            cluster.groups.set_phase(key, "Inqueue", hold=True)


@examples(30)
@given(worlds(FEW), worlds(FEW), randoms)
def test_rebuild_changes_no_summary(past: SmallWorld, present: SmallWorld, random: Random) -> None:
    cluster = Cluster()
    deliver(cluster, history(past, present, random))
    decide(cluster, random)
    decided = contents_of(cluster)
    before, touched = current_view(cluster), {*cluster.accounting.touched}
    sizes = cluster.decoder.sizes
    cluster.compact()
    after = current_view(cluster)
    assert summary_of(after) == summary_of(before, after.terms.counted)
    assert cluster.accounting.touched == touched
    assert audit(cluster) == []
    again = contents_of(cluster)
    assert again.placements == decided.placements
    assert (again.leaving, again.backing_off) == (decided.leaving, decided.backing_off)
    assert again.phases == decided.phases
    assert {identity(entry) for entry in again.objects} == {identity(entry) for entry in decided.objects}
    assert all(now <= then for now, then in zip(cluster.decoder.sizes, sizes, strict=True))
    fresh = cluster_with(contents_of(Cluster()))
    for entry in again.objects:
        fresh.apply(entry)
    fresh.cluster_state()
    assert {*cluster.axis.names} == {*fresh.axis.names}
    assert {*cluster.decoder.terms.counted} == {*fresh.decoder.terms.counted}


def delivered_one_by_one(entries: list[KubeObject]) -> Cluster:
    """Build a cluster with a snapshot after every object, so that nothing is computed from all of them at once."""
    cluster = Cluster()
    deliver(cluster, [Event(entry, pauses=True) for entry in entries])
    return cluster


@examples(30)
@given(st.one_of(social_worlds(), worlds(Traits(most_nodes=3, pod_rules=1))), randoms)
def test_terms_added_one_by_one_count_as_if_added_together(world: SmallWorld, random: Random) -> None:
    structure: list[KubeObject] = [*world.nodes, *world.queues, *world.priorities, *world.groups]
    pods = [*world.pods]
    random.shuffle(pods)
    cluster, fresh = delivered_one_by_one([*structure, *pods]), cluster_of([*structure, *pods])
    expected = current_view(fresh)
    assert summary_of(current_view(cluster), expected.terms.counted) == summary_of(expected)
    assert audit(cluster) == []
