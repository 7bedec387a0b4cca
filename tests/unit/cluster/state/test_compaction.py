"""Unused state is dropped, also by standby replicas."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import Auditor, audit
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import SLACK, Cluster
from stromboli.core.model.jobs.carryover import PastEviction
from tests.testing.placements import placement
from tests.testing.random_clusters import objects

CLASSES, TERMS, RESOURCES, PORTS = range(4)


def apart(name: str) -> kube.Affinity:
    """Anti-affinity to pods of that name."""
    selector = kube.KubeLabelSelector(match_labels={"job": name})
    term = kube.PodAffinityTerm(label_selector=selector, topology_key=objects.HOSTNAME)
    return kube.Affinity(pod_anti_affinity=kube.KubePodAffinity(required=[term]))


def pod_on(node: str, name: str, requests: dict[str, str], **spec: Any) -> kube.Pod:
    described = objects.template(requests, **spec)
    described.node_name = node
    return objects.pod(name, described, phase="Running", labels={"job": name})


def a_cluster() -> Cluster:
    cluster = Cluster()
    nodes = [objects.node(name, {"cpu": "8", "pods": "20"}, labels={objects.HOSTNAME: name}) for name in "ab"]
    stays = pod_on("a", "stays", {"cpu": "1", "example.com/used": "1"}, affinity=apart("stays"))
    for entry in (*standard_queues(), *nodes, stays, *objects.gang("gang", 2, objects.template({"cpu": "1"}))):
        cluster.apply(entry)
    cluster.snapshot()
    return cluster


def run_pod(cluster: Cluster, pod: kube.Pod) -> None:
    cluster.apply(pod)
    cluster.snapshot()
    cluster.remove(pod)


def run_pods(cluster: Cluster, what: int, number: int) -> None:
    """Add and remove this many pods, each with a class, a term, a resource or a host port of its own."""
    for place in range(number):
        name = f"guest-{place}"
        if what == TERMS:
            run_pod(cluster, pod_on("b", name, {"cpu": "1"}, affinity=apart(name)))
        elif what == PORTS:
            run_pod(cluster, pod_on("b", name, {"cpu": "1"}, host_port=place + 1))
        else:
            run_pod(cluster, pod_on("b", name, {f"example.com/{name}": "1"}))


@pytest.mark.parametrize("what", [TERMS, RESOURCES, PORTS], ids=["terms", "resources", "host ports"])
def test_compaction_drops_unused_entries(what: int, monkeypatch: pytest.MonkeyPatch) -> None:
    slack = tuple(min(each, 20) if place == what else each for place, each in enumerate(SLACK))
    monkeypatch.setattr("stromboli.cluster.state.cluster.SLACK", slack)
    cluster = a_cluster()
    before = cluster.decoder.sizes
    run_pods(cluster, what, 5)
    assert [cluster.needs_compaction] == [False], "below the threshold nothing is dropped"
    run_pods(cluster, what, 60)
    assert [cluster.needs_compaction] == [True]
    cluster.forget_classes()
    assert cluster.decoder.sizes[what] > before[what], "dropping classes is not enough"
    cluster.compact()
    assert cluster.decoder.sizes == before
    assert not cluster.needs_compaction
    assert audit(cluster) == []
    assert cluster.decoder.axis.names[-1] == "example.com/used"


def test_large_cluster_in_use_needs_no_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeated compaction without effect would waste time."""
    monkeypatch.setattr("stromboli.cluster.state.cluster.SLACK", (1000, 1000, 5, 1000))
    cluster = a_cluster()
    for place in range(40):
        cluster.apply(pod_on("b", f"guest-{place}", {f"example.com/guest-{place}": "1"}))
    assert cluster.needs_compaction
    cluster.compact()
    assert not cluster.needs_compaction


def test_assumptions_survive_compaction() -> None:
    cluster = a_cluster()
    cluster.assumptions.assume(placement("Pod/team/gang-0", "a"))
    cluster.assumptions.start_backoff("Pod/team/gang-1")
    cluster.assumptions.assume_evicted("Pod/team/stays")
    cluster.groups.set_phase("team/gang", "Inqueue", hold=True)
    cluster.assumptions.note_evictions([PastEviction("team/gang", "team/stays", "", 0.0)])
    seen = cluster.external_changes
    cluster.compact()
    assert {uid: each.node for uid, each in cluster.assumptions.placements.items()} == {"Pod/team/gang-0": "a"}
    assert (cluster.assumptions.leaving, cluster.assumptions.backing_off) == ({"Pod/team/stays"}, {"Pod/team/gang-1"})
    assert (cluster.groups.phase("team/gang"), cluster.groups.pending_phases) == ("Inqueue", {"team/gang"})
    assert [eviction.victim for eviction in cluster.snapshot().eviction_history] == ["team/stays"]
    assert cluster.external_changes != seen, "earlier decisions are checked again"
    assert audit(cluster) == []


def test_changed_jobs_survive_compaction() -> None:
    cluster = a_cluster()
    cluster.apply(pod_on("b", "gang-0", {"cpu": "1"}))
    cluster.apply(objects.group("other", min_member=0, phase="Running"))
    cluster.compact()
    assert "team/other" in {*cluster.snapshot().touched, *cluster.snapshot().waiting}


def test_new_term_does_not_rebuild_accounting() -> None:
    cluster = a_cluster()
    rebuilt, build = [], cluster.accounting._rebuild

    def counting() -> None:
        rebuilt.append(1)
        build()

    cluster.accounting._rebuild = counting  # type: ignore[method-assign]
    run_pods(cluster, TERMS, 5)
    assert rebuilt == []
    assert audit(cluster) == []


def test_new_term_counts_existing_pods() -> None:
    cluster = a_cluster()
    for name in ("web-0", "web-1"):
        cluster.apply(pod_on("a", name, {"cpu": "1"}))
    cluster.snapshot()
    cluster.apply(pod_on("b", "shy", {"cpu": "1"}, affinity=apart("web-1")))
    snapshot = cluster.snapshot()
    number = snapshot.terms.counted.index(
        next(term for term in snapshot.terms.counted if "web-1" in repr(term) and not hasattr(term, "weight"))
    )
    column = snapshot.tallies[number]
    assert {name: int(column[row]) for name, row in snapshot.nodes.index.items()} == {"a": 1, "b": 0}
    assert audit(cluster) == []


def test_standby_drops_removed_objects() -> None:
    """A standby takes no snapshots; only the auditor reads the state."""
    cluster = a_cluster()
    auditor = Auditor(cluster)
    cluster.snapshot()
    for number in range(50):
        group, pod = objects.gang(f"guest-{number}", 1, objects.template({"cpu": "1"}))
        cluster.apply(group)
        cluster.apply(pod)
        if number % 3:
            assert auditor.sample() == []
        cluster.remove(pod)
        cluster.remove(group)
    assert auditor.sample() == []
    assert not [key for key in cluster.accounting.touched if "guest" in key]
    assert not [key for key in cluster.accounting._group_faults if "guest" in key]
    assert not [key for key in cluster.groups.phases if "guest" in key]
    assert (len(cluster.groups), len(cluster.pods), len(cluster.accounting.counted)) == (1, 3, 3)
