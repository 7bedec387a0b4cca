"""Native PodGroups in the cache: their meaning, and their separation from Volcano PodGroups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.job import Job
from stromboli.kube.objects import native
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import PodGroup
from stromboli.workloads.plain_groups import REQUIRED, TOPOLOGY
from tests.testing.random_clusters import objects

KEY = "team/scheduling.k8s.io:train"
GANG = {"gang": {"minCount": 2}}


def group(
    policy: Any, *, uid: str = "g-1", conditions: Any = None, metadata: Any = None, **spec: Any
) -> native.NativePodGroup:
    document = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "metadata": {"name": "train", "namespace": "team", "uid": uid, **(metadata or {})},
        "spec": {"schedulingPolicy": policy, **spec},
        "status": {"conditions": conditions},
    }
    return msgspec.convert(document, native.NativePodGroup)


def scheduled(status: str, name: str = "PodGroupInitiallyScheduled") -> list[dict[str, str]]:
    return [{"type": name, "status": status, "reason": "Because", "message": "of this"}]


def pod(name: str, **facts: Any) -> Pod:
    spec = {"schedulerName": "volcano", "schedulingGroup": {"podGroupName": "train"}, "containers": []}
    metadata = {"name": name, "namespace": "team", "uid": name, **facts}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


def cluster_of(*entries: Any) -> Cluster:
    cluster = Cluster()
    for entry in (*standard_queues(), objects.priority_class("high", 10), *entries):
        cluster.apply(entry)
    return cluster


def job_of(cluster: Cluster) -> Job:
    return cluster.cluster_state().jobs[KEY]


#: The group, and the resulting job: minimum, priority, queue.
MEANINGS = {
    "a gang": (group(GANG), (2, 0, "default")),
    "basic policy": (group({"basic": {}}), (1, 0, "default")),
    "a class": (group(GANG, priorityClassName="high"), (2, 10, "default")),
    "priority resolved by the server": (group(GANG, priorityClassName="high", priority=7), (2, 7, "default")),
    "a queue": (
        group(GANG, metadata={"annotations": {"scheduling.volcano.sh/queue-name": "research"}}),
        (2, 0, "research"),
    ),
}


@pytest.mark.parametrize(("described", "meant"), MEANINGS.values(), ids=MEANINGS)
def test_native_group_becomes_a_job(described: native.NativePodGroup, meant: tuple[int, int, str]) -> None:
    job = job_of(cluster_of(described))
    assert (job.min_available, job.priority, job.queue) == meant
    assert job.spec.fault == ""


#: The form of the later version, and that of v1alpha2.
MODES: dict[str, tuple[Any, bool]] = {
    "none": (None, False),
    "single": ({"single": {}}, False),
    "all": ({"all": {}}, True),
    "Pod": ("Pod", False),
    "PodGroup": ("PodGroup", True),
}


@pytest.mark.parametrize(("mode", "whole"), MODES.values(), ids=MODES)
def test_disruption_mode_of_each_version_is_read(mode: Any, whole: bool) -> None:
    spec = job_of(cluster_of(group(GANG, disruptionMode=mode))).spec
    assert (spec.evicted_whole, spec.fault) == (whole, "")


FAULTS = {
    "no policy": (group({}), "spec.schedulingPolicy: must be either gang or basic"),
    "both policies": (group({**GANG, "basic": {}}), "spec.schedulingPolicy: must be either gang or basic"),
    "gang with minCount 0": (group({"gang": {"minCount": 0}}), "minCount: must be at least 1, got 0; write 1 or more"),
    "gang without minCount": (group({"gang": {}}), "minCount: must be at least 1, got None"),
    "unknown disruption mode": (
        group(GANG, disruptionMode="All"),
        "spec.disruptionMode: must be single: {} or all: {}, in v1alpha2 Pod or PodGroup, got 'All'",
    ),
    "both disruption modes": (group(GANG, disruptionMode={"all": {}, "single": {}}), "got both or none"),
    "topology key missing": (
        group(GANG, schedulingConstraints={"topology": [{"key": "zone"}, {}]}),
        "spec.schedulingConstraints.topology[1].key: is missing; make the group again with a label of nodes there",
    ),
    "Topology in addition to own labels": (
        group(
            GANG,
            schedulingConstraints={"topology": [{"key": "rack"}]},
            metadata={"annotations": {TOPOLOGY: "net", REQUIRED: "rack"}},
        ),
        "the group has a networkTopology, too; keep one of both",
    ),
}


@pytest.mark.parametrize(("described", "words"), FAULTS.values(), ids=FAULTS)
def test_unsupported_native_group_has_a_fault(described: native.NativePodGroup, words: str) -> None:
    fault = job_of(cluster_of(described)).spec.fault
    assert fault.startswith(f"PodGroup {KEY}: ")
    assert words in fault


def test_equal_names_in_both_kinds_are_two_jobs() -> None:
    other = msgspec.convert({"metadata": {"name": "train", "namespace": "team", "uid": "v-1"}}, PodGroup)
    annotated = pod("theirs", annotations={"scheduling.k8s.io/group-name": "train"})
    cluster = cluster_of(other, group(GANG), pod("ours"), annotated)
    jobs = cluster.cluster_state().jobs
    assert {key: sorted(job.tasks) for key, job in jobs.items()} == {"team/train": ["theirs"], KEY: ["ours"]}
    cluster.remove(group(GANG))
    assert "does not exist, but pods name it; create it" in job_of(cluster).spec.fault
    assert cluster.cluster_state().jobs["team/train"].spec.fault == ""


def test_phase_of_a_native_group_is_kept_in_the_cache() -> None:
    cluster = cluster_of(group(GANG))
    assert cluster.groups.phase(KEY) == "Pending"
    cluster.groups.set_phase(KEY, "Inqueue", hold=True)
    cluster.groups.release_phase(KEY)
    cluster.apply(group(GANG, conditions=scheduled("False")))
    assert cluster.groups.phase(KEY) == "Inqueue"
    cluster.compact()
    assert cluster.groups.phase(KEY) == "Inqueue"
    cluster.apply(group(GANG, uid="g-2"))
    assert cluster.groups.phase(KEY) == "Pending"
    assert audit(cluster) == []


@pytest.mark.parametrize("name", ["PodGroupInitiallyScheduled", "PodGroupScheduled"])
def test_new_cache_reads_the_phase_from_the_condition(name: str) -> None:
    assert cluster_of(group(GANG, conditions=scheduled("True", name))).groups.phase(KEY) == "Running"
    assert cluster_of(group(GANG, conditions=scheduled("False", name))).groups.phase(KEY) == "Pending"


def test_dump_round_trip(tmp_path: Path) -> None:
    cluster, place = cluster_of(group(GANG), pod("ours")), tmp_path / "dump.json.gz"
    cluster.groups.set_phase(KEY, "Inqueue", hold=True)
    write_dump(place, Dump(contents_of(cluster)))
    back = cluster_with(read_dump(place).contents)
    assert summary_of(current_view(back)) == summary_of(current_view(cluster))
    assert job_of(back).phase == "Inqueue"
