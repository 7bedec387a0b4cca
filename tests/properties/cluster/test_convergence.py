"""In any event order the cache converges to the objects, and its state never contradicts them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.cluster.audit.auditor import Auditor, audit
from stromboli.cluster.audit.comparison import compare
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube import KubeObject
from stromboli.workloads.groups import GROUP_NAME
from tests.testing.placements import placement
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.event_orders import Chronicle, Report, chronicle_of, delivery_of
from tests.testing.random_clusters.histories import started
from tests.testing.random_clusters.worlds import RANK, SmallWorld, Traits, social_worlds, worlds

FEW = Traits(most_nodes=3, pod_rules=3)
#: From a seed: a chronicle makes more choices than an example may hold.
randoms = st.integers(0, 1 << 32).map(Random)


def check_truth(cluster: Cluster, truth: list[KubeObject]) -> None:
    """Compare the cache with one that has seen only the final objects."""
    fresh = Cluster()
    for entry in truth:
        fresh.apply(entry)
    expected = current_view(fresh)
    assert summary_of(current_view(cluster), expected.terms.counted) == summary_of(expected)
    assert compare(cluster, truth) == []
    assert audit(cluster) == []


def report_all(ingest: Ingest, reports: list[Report], random: Random) -> None:
    """Deliver reports, with occasional snapshots and audits in between."""
    auditor = Auditor(ingest.cluster)
    for report in reports:
        (ingest.remove if report.is_gone else ingest.apply)(report.entry)
        if random.random() < 0.03:
            ingest.cluster.snapshot()
        if random.random() < 0.03:
            assert auditor.sample() == []


def check_convergence(chronicle: Chronicle) -> None:
    ingest = Ingest(Cluster())
    report_all(ingest, delivery_of(chronicle), chronicle.random)
    assert ingest.quarantine == {}
    check_truth(ingest.cluster, list(chronicle.present.values()))


@examples(60)
@given(worlds(FEW), worlds(FEW), randoms)
def test_every_delivery_converges(past: SmallWorld, present: SmallWorld, random: Random) -> None:
    check_convergence(chronicle_of(past, present, random))


@examples(40)
@given(social_worlds(), social_worlds(), randoms)
def test_term_tallies_converge(past: SmallWorld, present: SmallWorld, random: Random) -> None:
    check_convergence(chronicle_of(past, present, random))


def in_halves(group: kube.PodGroup) -> kube.PodGroup:
    policy = kube.KubeSubGroupPolicy(name="half", match_label_keys=[RANK], sub_group_size=1)
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, sub_group_policy=[policy]))


def promoted(pod: kube.Pod, random: Random) -> kube.Pod:
    spec = msgspec.structs.replace(pod.spec, priority=random.choice([1, 5, 9]))
    return msgspec.structs.replace(pod, spec=spec)


@examples(40)
@given(worlds(Traits(most_nodes=2, pod_rules=0)), randoms)
def test_changing_members_converge(world: SmallWorld, random: Random) -> None:
    """Nothing else changes, so that the cache has no reason to rebuild."""
    chronicle, ingest = Chronicle(random), Ingest(Cluster())
    entries: list[KubeObject] = [*world.nodes, *world.queues, *map(in_halves, world.groups), *world.pods]
    for entry in entries:
        chronicle.write(entry)
    report_all(ingest, chronicle.changes, random)
    ingest.cluster.snapshot()
    delivered = len(chronicle.changes)
    for pod in random.choices(world.pods, k=3 * len(world.pods)) if world.pods else ():
        chronicle.delete(pod) if random.random() < 0.5 else chronicle.write(promoted(pod, random))
    for change in chronicle.changes[delivered:]:
        report_all(ingest, [change], random)
        ingest.cluster.cluster_state()
    check_truth(ingest.cluster, list(chronicle.present.values()))


def decide(cluster: Cluster, random: Random) -> None:
    """Assume or release a placement or an eviction."""
    pods, nodes = cluster.pods.all(), list(cluster.nodes.entries)
    if pods and nodes:
        pod = random.choice(pods)
        uid, node = pod.metadata.uid, random.choice([*nodes, "gone"])
        choices: list[Callable[[], object]] = [
            lambda: cluster.assumptions.assume(placement(uid, node)), lambda: cluster.assumptions.forget(uid),
            lambda: cluster.assumptions.assume_evicted(uid), lambda: cluster.assumptions.forget_eviction(uid),
            lambda: cluster.assumptions.start_backoff(uid), lambda: cluster.assumptions.end_backoff(uid),
        ]  # fmt: skip
        random.choice(choices)()
    if cluster.groups:
        key = random.choice(sorted(cluster.groups))
        phase = random.choice(["Pending", "Inqueue", "Running"])
        if random.random() < 0.5:
            cluster.groups.set_phase(key, phase, hold=True)
        else:
            cluster.groups.release_phase(key)


def take_back_everything(cluster: Cluster) -> None:
    for uid in list(cluster.assumptions.placements):
        cluster.assumptions.forget(uid)
    for pod in cluster.pods.all():
        cluster.assumptions.forget_eviction(pod.metadata.uid)
        cluster.assumptions.end_backoff(pod.metadata.uid)
    for key in cluster.groups:
        cluster.groups.release_phase(key)


@examples(60)
@given(worlds(FEW), worlds(FEW), randoms)
def test_released_assumptions_leave_no_trace(past: SmallWorld, present: SmallWorld, random: Random) -> None:
    chronicle = chronicle_of(past, present, random)
    ingest, auditor = Ingest(Cluster()), None
    for report in delivery_of(chronicle):
        (ingest.remove if report.is_gone else ingest.apply)(report.entry)
        decide(ingest.cluster, random)
        if random.random() < 0.03:
            auditor = auditor or Auditor(ingest.cluster)
            assert auditor.sample() == []
    assert audit(ingest.cluster) == []
    take_back_everything(ingest.cluster)
    check_truth(ingest.cluster, list(chronicle.present.values()))


@examples(40)
@given(worlds(FEW), randoms)
def test_confirmed_assumption_counts_once(world: SmallWorld, random: Random) -> None:
    """An assumed placement is the one that the pod has in the end, or is released for another."""
    chronicle = Chronicle(random)
    ingest = Ingest(Cluster())
    for entry in world.objects:
        chronicle.write(entry)
    report_all(ingest, chronicle.changes, random)
    delivered = len(chronicle.changes)
    names = [node.metadata.name for node in world.nodes]
    for pod in [pod for pod in world.pods if not pod.spec.node_name]:
        ingest.cluster.assumptions.assume(
            placement(chronicle.present["Pod", pod.key].metadata.uid, random.choice(names))
        )
        chronicle.write(started(pod, random.choice(names)))
    ingest.cluster.snapshot()
    report_all(ingest, chronicle.changes[delivered:], random)
    assert dict(ingest.cluster.assumptions.placements) == {}
    check_truth(ingest.cluster, list(chronicle.present.values()))


def alone(pod: kube.Pod) -> kube.Pod:
    """Return the pod as it was before a controller assigned a group."""
    delivered = {key: value for key, value in (pod.metadata.annotations or {}).items() if key != GROUP_NAME}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=delivered))


@examples(30)
@given(worlds(Traits(most_nodes=2, pod_rules=0)), randoms)
def test_pods_without_group_get_groups_later(world: SmallWorld, random: Random) -> None:
    chronicle, ingest = Chronicle(random), Ingest(Cluster())
    entries: list[KubeObject] = [*world.nodes, *world.queues, *map(alone, world.pods)]
    for entry in entries:
        chronicle.write(entry)
    report_all(ingest, chronicle.changes, random)
    ingest.cluster.snapshot()
    delivered = len(chronicle.changes)
    given_groups: list[KubeObject] = [*world.groups, *world.pods]
    for entry in random.sample(given_groups, len(given_groups)):
        chronicle.write(entry)
    report_all(ingest, chronicle.changes[delivered:], random)
    check_truth(ingest.cluster, list(chronicle.present.values()))
