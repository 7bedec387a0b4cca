"""In any event order of bind requests and pods, every placement counts exactly once, as the objects define."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given

from stromboli import kube
from stromboli.cluster.audit.auditor import Auditor, audit
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.bind_requests import (
    BindRequest,
    BindRequestSpec,
    BindRequestStatus,
    BoundPod,
    MemberStatus,
)
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from tests.properties.cluster.test_convergence import check_truth, randoms
from tests.testing.placements import placement
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.event_orders import Chronicle, delivery_of
from tests.testing.random_clusters.histories import started
from tests.testing.random_clusters.worlds import SmallWorld, Traits, worlds

FEW = Traits(most_nodes=3, pod_rules=0, node_rules=False)
PHASES = ("", "Pending", "Binding", "Unwinding", "Succeeded", "Failed", "Meditating")
FINISHED = ("Succeeded", "Failed")


def decide(chronicle: Chronicle, world: SmallWorld) -> None:
    """Create, change or complete bind requests of existing pods."""
    random, present = chronicle.random, chronicle.present
    pods = [entry for entry in present.values() if isinstance(entry, kube.Pod)]
    requests = [entry for entry in present.values() if isinstance(entry, BindRequest)]
    nodes = [node.metadata.name for node in world.nodes] + ["gone"]
    dice = random.random()
    if dice < 0.4 and pods:
        chronicle.write(request_of(random, random.sample(pods, min(len(pods), random.randint(1, 3))), nodes))
    elif dice < 0.6 and requests:
        chronicle.write(in_phase(random, random.choice(requests)))
    elif dice < 0.7 and requests:
        chronicle.delete(random.choice(requests))
    elif dice < 0.85 and pods:
        chronicle.write(started(random.choice(pods), random.choice(nodes)))
    elif pods:
        pod = random.choice(pods)
        chronicle.delete(pod)
        if random.random() < 0.5:
            chronicle.write(msgspec.structs.replace(pod, spec=unplaced(pod), status=kube.PodStatus()))


def unplaced(pod: kube.Pod) -> kube.PodSpec:
    return msgspec.structs.replace(pod.spec, node_name=None)


def request_of(random: Random, pods: list[kube.Pod], nodes: list[str]) -> BindRequest:
    members = [BoundPod(p.metadata.name, p.metadata.uid, random.choice(nodes)) for p in pods]
    spec = BindRequestSpec(scheduler="any", epoch=random.randint(0, 2), pods=members)
    name = f"request-{random.randint(0, 9)}"
    return in_phase(random, BindRequest(metadata=ObjectMeta(name=name, namespace="default", uid=name), spec=spec))


def in_phase(random: Random, request: BindRequest) -> BindRequest:
    delivered = [MemberStatus(m.pod_uid, random.choice(("", "Bound", "Failed", "Unwound"))) for m in request.spec.pods]
    return msgspec.structs.replace(request, status=BindRequestStatus(phase=random.choice(PHASES), pods=delivered))


def truly_held(objects: list[TopLevel]) -> dict[str, str]:
    """Return the node of each pod by uid, computed from the objects alone."""
    nodes = {entry.metadata.name for entry in objects if isinstance(entry, kube.KubeNode)}
    held: dict[str, tuple[int, str, str]] = {}
    for request in (entry for entry in objects if isinstance(entry, BindRequest)):
        lost = {each.pod_uid for each in request.status.pods if each.phase in ("Failed", "Unwound")}
        for member in request.spec.pods:
            if request.status.phase == "Failed" or (request.status.phase == "Succeeded" and member.pod_uid in lost):
                continue
            claim = (request.spec.epoch, request.key, member.selected_node)
            held[member.pod_uid] = max(claim, held.get(member.pod_uid, claim))
    places = {}
    for pod in (entry for entry in objects if isinstance(entry, kube.Pod)):
        place = pod.spec.node_name or held.get(pod.metadata.uid, (0, "", ""))[2]
        if place in nodes and pod.status.phase not in FINISHED:
            places[pod.metadata.uid] = place
    return places


def held_by(cluster: Cluster) -> list[tuple[str, str]]:
    cluster_state = cluster.cluster_state()
    return sorted(
        (uid, cluster_state.table.names[row]) for row, uids in cluster_state.pods_on_node.items() for uid in uids
    )


@examples(30)
@given(worlds(FEW), randoms)
def test_every_placement_counts_once(world: SmallWorld, random: Random) -> None:
    chronicle = Chronicle(random)
    for entry in world.objects:
        chronicle.write(entry)
    for _ in range(25):
        decide(chronicle, world)
    ingest = Ingest(Cluster())
    auditor = Auditor(ingest.cluster)
    for report in delivery_of(chronicle):
        (ingest.remove if report.is_gone else ingest.apply)(report.entry)
        if random.random() < 0.05:
            assert auditor.sample() == []
    truth: list[TopLevel] = list(chronicle.present.values())
    assert ingest.quarantine == {}
    assert held_by(ingest.cluster) == sorted(truly_held(truth).items())
    check_truth(ingest.cluster, list(chronicle.present.values()))


@examples(20)
@given(worlds(FEW), randoms)
def test_own_assumptions_leave_no_trace_beside_requests(world: SmallWorld, random: Random) -> None:
    """Placements that this scheduler assumes, releases, or hands over to requests."""
    chronicle = Chronicle(random)
    for entry in world.objects:
        chronicle.write(entry)
    for _ in range(20):
        decide(chronicle, world)
    ingest = Ingest(Cluster())
    for report in delivery_of(chronicle):
        (ingest.remove if report.is_gone else ingest.apply)(report.entry)
        pods, nodes = ingest.cluster.pods.all(), list(ingest.cluster.nodes.entries)
        if pods and nodes and random.random() < 0.4:
            uid = random.choice(pods).metadata.uid
            if random.random() < 0.5:
                ingest.cluster.assumptions.assume(placement(uid, random.choice(nodes)))
            else:
                ingest.cluster.assumptions.forget(uid)
        if random.random() < 0.05:
            assert audit(ingest.cluster) == []
    for pod in ingest.cluster.pods.all():
        ingest.cluster.assumptions.forget(pod.metadata.uid)
    assert ingest.cluster.assumptions._own == {}
    assert held_by(ingest.cluster) == sorted(truly_held(list(chronicle.present.values())).items())
    check_truth(ingest.cluster, list(chronicle.present.values()))
