"""Rules of Deployments and ReplicaSets, as tables; every rollout completes."""

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import stamp
from stromboli.kube.objects.workloads import Deployment, ReplicaSet
from stromboli.local.fakes.workloads.pod_templates import free_names
from stromboli.local.fakes.workloads.replica_rules import is_adoptable, replica_counts, shortage
from stromboli.local.fakes.workloads.rollout_rules import (
    Bounds,
    Size,
    bounds,
    grown,
    of_template,
    outdated,
    replica_set_document,
    set_annotations,
    shrunk,
    template_hash,
)
from stromboli.local.fakes.workloads.rollout_statuses import RolloutProgress, progress_deadline, status_changes

NOW = 1_800_000_000.0
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}


def deployment(status: dict[str, Any] | None = None, **spec: Any) -> Deployment:
    facts = {"selector": SELECTOR, "template": TEMPLATE, **spec}
    return msgspec.convert({"metadata": {"name": "web"}, "spec": facts, "status": status or {}}, Deployment)


def rolling(replicas: int, surge: int | str, lack: int | str) -> Deployment:
    update = {"maxSurge": surge, "maxUnavailable": lack}
    return deployment(replicas=replicas, strategy={"type": "RollingUpdate", "rollingUpdate": update})


def replica_set(name: str = "web-1", revision: int = 1, **facts: Any) -> ReplicaSet:
    spec = {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE, **facts}
    notes = {"deployment.kubernetes.io/revision": str(revision)}
    return msgspec.convert({"metadata": {"name": name, "annotations": notes}, "spec": spec}, ReplicaSet)


def pod(name: str, ready: float | None = NOW, phase: str = "Running", **metadata: Any) -> Pod:
    conditions = [] if ready is None else [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(ready)}]
    facts = {"name": name, "labels": {"app": "web"}, **metadata}
    return msgspec.convert({"metadata": facts, "status": {"phase": phase, "conditions": conditions}}, Pod)


def test_deployment_annotations_reach_replica_set() -> None:
    annotations = {"scheduling.volcano.sh/group-min-member": "2", "kubernetes.io/change-cause": "a new image"}
    of_the_deployment = {
        "deployment.kubernetes.io/revision": "7",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    changed = deployment(replicas=4)
    changed.metadata.annotations = annotations | of_the_deployment
    counted = {"deployment.kubernetes.io/desired-replicas": "4", "deployment.kubernetes.io/max-replicas": "5"}
    assert set_annotations(changed, 8) == {**annotations, **counted, "deployment.kubernetes.io/revision": "8"}


BOUNDS = [
    ("a quarter, up and down", rolling(10, "25%", "25%"), (10, 13, 8)),
    ("numbers", rolling(4, 1, 0), (4, 5, 4)),
    ("both bounds zero", rolling(4, 0, 0), (4, 4, 3)),
    ("a quarter of one", rolling(1, "25%", "25%"), (1, 2, 1)),
    ("more than all", rolling(2, 0, 5), (2, 2, 0)),
    ("nonsense", rolling(2, "some", 1), (2, 2, 1)),
    ("defaults", deployment(replicas=4), (4, 5, 3)),
    ("all at once", deployment(replicas=4, strategy={"type": "Recreate"}), (4, 4, 0)),
]


@pytest.mark.parametrize(("given_", "expected"), [case[1:] for case in BOUNDS], ids=[case[0] for case in BOUNDS])
def test_bounds(given_: Deployment, expected: tuple[int, int, int]) -> None:
    limits = bounds(given_)
    assert (limits.replicas, limits.max_replicas, limits.min_available) == expected


class Roll(NamedTuple):
    title: str
    new: Size
    old: list[Size]
    grown: int
    shrunk: list[int]


FOUR = Bounds(replicas=4, max_replicas=5, min_available=3)
ROLLS = [
    Roll("the beginning of all", Size(0), [], 4, []),
    Roll("nothing to do", Size(4, 4), [], 4, []),
    Roll("scaled down", Size(6, 6), [], 4, []),
    Roll("a new template", Size(0), [Size(4, 4)], 1, [3]),
    Roll("the new one does not run yet", Size(2, 0), [Size(3, 3)], 2, [3]),
    Roll("half way", Size(2, 2), [Size(3, 3)], 2, [1]),
    Roll("nearly there", Size(4, 3), [Size(1, 1)], 4, [0]),
    Roll("unhealthy pods are removed first", Size(1, 0), [Size(2, 2), Size(2, 1)], 1, [2, 1]),
    Roll("all old pods are unhealthy", Size(0), [Size(4, 0)], 1, [3]),
    Roll("the oldest set is scaled down first", Size(1, 1), [Size(2, 2), Size(2, 2)], 1, [0, 2]),
]


@pytest.mark.parametrize("case", ROLLS, ids=[case.title for case in ROLLS])
def test_rollout_step(case: Roll) -> None:
    assert grown(FOUR, case.new, case.old) == case.grown
    assert shrunk(FOUR, case.new, case.old) == case.shrunk


@given(
    replicas=st.integers(0, 12),
    surge=st.integers(0, 4),
    lack=st.integers(0, 4),
    old=st.lists(st.integers(0, 12), max_size=3),
)
def test_every_rollout_completes_within_bounds(replicas: int, surge: int, lack: int, old: list[int]) -> None:
    """Pods start between two steps. The minimum is available once it was reached."""
    limits = bounds(rolling(replicas, surge, lack))
    new, sizes = Size(0), [Size(count, count) for count in old]
    for _ in range(60):
        max_replicas = max(limits.max_replicas, new.replicas + sum(each.replicas for each in sizes))
        before = new.available + sum(each.available for each in sizes)
        new = Size(grown(limits, new, sizes), new.available)
        sizes = [Size(count, count) for count in shrunk(limits, new, sizes)]
        assert new.replicas + sum(each.replicas for each in sizes) <= max_replicas
        assert new.available + sum(each.available for each in sizes) >= min(before, limits.min_available)
        new = Size(new.replicas, new.replicas)
    assert (new.replicas, sum(each.replicas for each in sizes)) == (replicas, 0)


def test_replica_set_of_template() -> None:
    owner = {"uid": "u"}
    document = replica_set_document(deployment(replicas=3), owner, 2, 7)
    made = msgspec.convert(document, ReplicaSet)
    mark = template_hash(TEMPLATE)
    assert made.metadata.name == f"web-{mark}"
    assert made.spec.selector is not None
    assert made.spec.selector.match_labels == {"app": "web", "pod-template-hash": mark}
    assert (made.metadata.annotations or {})["deployment.kubernetes.io/revision"] == "7"
    assert of_template(deployment(), [replica_set(template={"spec": {}}), made]) is made
    assert of_template(deployment(), []) is None
    reordered = {"spec": TEMPLATE["spec"], "metadata": TEMPLATE["metadata"]}
    assert template_hash(reordered) == mark


def test_outdated_replica_sets() -> None:
    old = [replica_set(f"r{number}", number) for number in (3, 1, 2)] + [replica_set("busy", 0, replicas=1)]
    assert [each.metadata.name for each in outdated(deployment(revisionHistoryLimit=1), old)] == ["r1", "r2"]
    assert outdated(deployment(), old) == []


def test_replica_set_counts() -> None:
    pods = [pod("a"), pod("b", None), pod("c", phase="Failed"), pod("d", deletionTimestamp=stamp(NOW)),
            pod("e", NOW - 10, labels={"app": "x"})]  # fmt: skip
    count = replica_counts(replica_set(minReadySeconds=5), pods, NOW)
    assert (count.replicas, count.labelled, count.ready, count.available) == (3, 2, 2, 1)
    assert count.next_available_at == NOW + 5


def test_replica_set_shortage_and_excess() -> None:
    pods = [pod("a"), pod("b", None), pod("c", phase="Failed")]
    assert shortage(replica_set(replicas=3), pods) == (1, [])
    assert shortage(replica_set(replicas=1), pods) == (0, [pods[1]])
    assert shortage(replica_set(replicas=2), pods) == (0, [])


def test_adoptable_pods() -> None:
    assert is_adoptable(replica_set(), pod("a"))
    assert not is_adoptable(replica_set(), pod("a", labels={"app": "x"}))
    assert not is_adoptable(replica_set(), pod("a", phase="Succeeded"))
    assert not is_adoptable(replica_set(), pod("a", namespace="elsewhere"))


def test_pod_names_are_deterministic() -> None:
    def first(number: int, taken: set[str], uid: str = "u") -> list[str]:
        names = free_names("web", uid, taken.__contains__)
        return [next(names) for _ in range(number)]

    three = first(3, set())
    assert len(set(three)) == 3
    assert first(2, {three[1]}) == [three[0], three[2]]
    assert first(1, set(), "other") != three[:1]
    assert all(len(name) <= 63 for name in (next(free_names("x" * 80, "u", set().__contains__)),))


class StatusCase(NamedTuple):
    title: str
    before: dict[str, Any]
    progress: RolloutProgress
    available: str
    progressing: tuple[str, str]


def said(reason: str, status: str = "True", at: float = NOW - 700) -> dict[str, Any]:
    return {"conditions": [{"type": "Progressing", "status": status, "reason": reason, "lastUpdateTime": stamp(at)}]}


STATUS_CASES = [
    StatusCase("just made", {}, RolloutProgress(0, 0, 0, 0), "False", ("True", "NewReplicaSetCreated")),
    StatusCase("done", said("NewReplicaSetCreated"), RolloutProgress(4, 4, 4, 4), "True", ("True",
         "NewReplicaSetAvailable")),
    StatusCase("on its way", said("NewReplicaSetCreated"), RolloutProgress(5, 2, 4, 4), "True", ("True",
         "ReplicaSetUpdated")),
    StatusCase("stuck", {"replicas": 1, "updatedReplicas": 1, **said("ReplicaSetUpdated")}, RolloutProgress(1, 1, 0,
         0), "False",
         ("False", "ProgressDeadlineExceeded")),
    StatusCase("slow", {"replicas": 1, "updatedReplicas": 1, **said("ReplicaSetUpdated", at=NOW - 5)},
         RolloutProgress(1, 1, 0, 0),
         "False", ("True", "ReplicaSetUpdated")),
    StatusCase("better late", said("ProgressDeadlineExceeded", "False"), RolloutProgress(4, 4, 4, 4), "True",
         ("True", "NewReplicaSetAvailable")),
]  # fmt: skip


@pytest.mark.parametrize("case", STATUS_CASES, ids=[case.title for case in STATUS_CASES])
def test_conditions(case: StatusCase) -> None:
    subject = deployment(case.before, replicas=4, progressDeadlineSeconds=600)
    after = msgspec.structs.replace(subject)
    changes = status_changes(after, case.progress, "web-1", NOW)
    found = {each["type"]: each for each in [*case.before.get("conditions", []), *changes.get("conditions", [])]}
    assert found["Available"]["status"] == case.available
    assert (found["Progressing"]["status"], found["Progressing"]["reason"]) == case.progressing


def test_progress_deadline() -> None:
    stuck = deployment(said("ReplicaSetUpdated", at=NOW - 10), replicas=4, progressDeadlineSeconds=60)
    assert progress_deadline(stuck, RolloutProgress(1, 1, 0, 0)) == NOW + 50
    assert progress_deadline(stuck, RolloutProgress(4, 4, 4, 4)) is None
    assert progress_deadline(deployment(), RolloutProgress(0, 0, 0, 0)) is None
