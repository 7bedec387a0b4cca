"""Workloads as their operators publish them, and the pods, groups and decisions that follow.

Each file names the operator and its version.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
import yaml

from stromboli import kube
from stromboli.kube.manifests.manifests import Manifests
from stromboli.planner.plan import SchedulingPlan
from stromboli.workloads.registry import FAMILIES
from tests.scenarios.workloads.published import FOLDER, read
from tests.testing.random_clusters.engine import plan_of


class Group(NamedTuple):
    """A group, and what its minimum, queue, priority class and minimum of cpu are."""

    minimum: int
    queue: str = ""
    priority: str = ""
    cpu: str = ""


class Family(NamedTuple):
    """The pods by role, or by the name of their group if they have none; the groups; the number of placed pods."""

    pods: dict[str, list[str]]
    groups: dict[str, Group]
    placed: int
    #: The beginnings of the notes, after kind and name.
    notes: tuple[str, ...] = ()


def numbered(prefix: str, *numbers: int | str) -> list[str]:
    return [f"{prefix}{number}" for number in numbers]


def by_owner(
    name: str,
    pods: list[str],
    *,
    minimum: int = 1,
    placed: int,
    notes: tuple[str, ...] = (),
    cpu: str = "1",
    queue: str = "",
    priority: str = "",
) -> Family:
    """Pods that name no group: the controller of PodGroups creates one for their owner."""
    return Family({f"podgroup-{name}": pods}, {f"podgroup-{name}": Group(minimum, queue, priority, cpu)}, placed, notes)


ENABLED = "the objects of "
NEXT_RUN = "its next run"
FAMILY_CASES = {
    "job": by_owner("pi", numbered("pi-", 0, 1), placed=2),
    "kueue-job": by_owner("sample", numbered("sample-", 0, 1, 2), placed=3, notes=("its queue user-queue is Kueue's",)),
    "cron-job": by_owner(
        "nightly", numbered("nightly-", 0, 1), minimum=2, placed=2, notes=(NEXT_RUN,), cpu="2", queue="research"),
    "deployment": by_owner("web", numbered("web-", 0, 1, 2), minimum=3, placed=3, cpu="3", priority="urgent"),
    "replica-set": by_owner("frontend", numbered("frontend-", 0, 1), placed=2),
    "replication-controller": by_owner("nginx", ["nginx-0"], placed=1),
    "stateful-set": by_owner("db", numbered("db-", 1, 2), placed=2, notes=("its pods are planned together",)),
    "daemon-set": by_owner("agent", numbered("agent-", "n1", "n2", "n3"), placed=3, cpu="100m"),
    "volcano-job": Family(
        {"ps": ["tensorflow-ps-0"], "worker": numbered("tensorflow-worker-", 0, 1, 2, 3)},
        {"tensorflow": Group(3, "research", "urgent", "4")}, placed=5),
    "volcano-job-partitions": Family(
        {"trainer": numbered("llm-trainer-", 0, 1, 2, 3)}, {"llm": Group(4, "default", cpu="8")}, placed=4),
    "volcano-cron-job": Family(
        {"task": numbered("hourly-task-", 0, 1)}, {"hourly": Group(2, "research", cpu="2")}, placed=2,
        notes=(NEXT_RUN,)),
    "job-flow": Family(
        {"default-nginx": numbered("test-a-default-nginx-", 0, 1)}, {"test-a": Group(1, "research", cpu="1")}, placed=2,
        notes=("Job b is created after a",)),
    "job-set": Family(
        {
            "podgroup-coordinator-driver-0": ["coordinator-driver-0-0"],
            "podgroup-coordinator-workers-0": numbered("coordinator-workers-0-", 0, 1),
            "podgroup-coordinator-workers-1": numbered("coordinator-workers-1-", 0, 1),
        },
        {
            "podgroup-coordinator-driver-0": Group(1, cpu="1"),
            "podgroup-coordinator-workers-0": Group(2, cpu="2"),
            "podgroup-coordinator-workers-1": Group(2, cpu="2"),
        }, placed=5),
    "job-set-in-order": by_owner(
        "sequence-driver-0", ["sequence-driver-0-0"], placed=1,
        notes=("the pods of workers are created when those of driver are ready",)),
    "job-set-exclusive": Family(
        {f"podgroup-exclusive-workers-{each}": [f"exclusive-workers-{each}-0"] for each in (0, 1)},
        {f"podgroup-exclusive-workers-{each}": Group(1, cpu="1") for each in (0, 1)}, placed=2,
        notes=("the further pods of each Job of workers are created when the first one has a node",)),
    "leader-worker-set": Family(
        {"vllm-0": ["vllm-0", *numbered("vllm-0-", 1, 2)], "vllm-1": ["vllm-1", *numbered("vllm-1-", 1, 2)]},
        {"vllm-0": Group(3, "research", cpu="2"), "vllm-1": Group(3, "research", cpu="2")}, placed=6, notes=(ENABLED,)),
    "leader-worker-set-sub-groups": Family(
        {"sharded-0": ["sharded-0", *numbered("sharded-0-", 1, 2, 3, 4)]}, {"sharded-0": Group(5, cpu="5")}, placed=5,
        notes=(ENABLED,)),
    "leader-worker-set-exclusive": Family(
        {"exclusive-0": ["exclusive-0"], "exclusive-1": ["exclusive-1"]},
        {"exclusive-0": Group(1, cpu="2"), "exclusive-1": Group(1, cpu="2")}, placed=2,
        notes=("its workers are created when their leader is ready", ENABLED)),
    "disaggregated-set": Family(
        {
            "llm-0-prefill-0": ["llm-0-prefill-0", "llm-0-prefill-0-1"],
            "llm-0-decode-0": ["llm-0-decode-0"],
            "llm-1-prefill-0": ["llm-1-prefill-0", "llm-1-prefill-0-1"],
            "llm-1-decode-0": ["llm-1-decode-0"],
        },
        {
            "llm-0-prefill-0": Group(2, "research", cpu="2"),
            "llm-0-decode-0": Group(1, cpu="2"),
            "llm-1-prefill-0": Group(2, "research", cpu="2"),
            "llm-1-decode-0": Group(1, cpu="2"),
        }, placed=6, notes=(ENABLED,)),
    "pytorch-job": Family(
        {"master": ["simple-master-0"], "worker": numbered("simple-worker-", 0, 1)},
        {"simple": Group(3, "research", "urgent", "1")}, placed=3, notes=(ENABLED,)),
    "tf-job": Family(
        {"ps": ["tfjob-simple-ps-0"], "worker": numbered("tfjob-simple-worker-", 0, 1)},
        {"tfjob-simple": Group(2, "default", cpu="3")}, placed=3, notes=(ENABLED,)),
    "xgboost-job": Family(
        {"master": ["iris-master-0"], "worker": ["iris-worker-0"]}, {"iris": Group(2, "default", cpu="2")}, placed=2,
        notes=(ENABLED,)),
    "mx-job": Family(
        {"scheduler": ["mxnet-scheduler-0"], "server": ["mxnet-server-0"], "worker": numbered("mxnet-worker-", 0, 1)},
        {"mxnet": Group(4, "research", cpu="6")}, placed=4, notes=(ENABLED,)),
    "paddle-job": Family(
        {"worker": numbered("paddle-worker-", 0, 1)}, {"paddle": Group(2, "default", cpu="2")}, placed=2,
        notes=(ENABLED,)),
    "jax-job": Family(
        {"worker": numbered("jax-worker-", 0, 1)}, {"jax": Group(2, "default", cpu="2")}, placed=2, notes=(ENABLED,)),
    "mpi-job-v1": Family(
        {"launcher": ["horovod-launcher"], "worker": numbered("horovod-worker-", 0, 1)},
        {"horovod": Group(3, "default", cpu="3")}, placed=3, notes=(ENABLED,)),
    "mpi-job": Family(
        {"pi": ["pi-launcher-0", *numbered("pi-worker-", 0, 1)]}, {"pi": Group(3, "research", cpu="3")}, placed=3,
        notes=(ENABLED,)),
    "train-job": Family(
        {"fine-tune": numbered("fine-tune-node-0-", 0, 1, 2)}, {"fine-tune": Group(3, "research", cpu="12")}, placed=3),
    "train-job-mpi": by_owner(
        "tune-node-0", numbered("tune-node-0-", 0, 1), placed=2, cpu="4",
        notes=("the pods of launcher are created when those of node are ready",)),
    "ray-cluster": Family(
        {"headgroup": ["search-head"], "small": numbered("search-small-worker-", 0, 1),
         "tpu": numbered("search-tpu-worker-", 0, 1)},
        {"ray-search-pg": Group(5, "research", "urgent", "6")}, placed=5, notes=(ENABLED,)),
    "ray-job": Family(
        {"headgroup": ["tune-head"], "small": ["tune-small-worker-0"]},
        {"ray-tune-pg": Group(2, "research", cpu="4500m")}, placed=2,
        notes=("the pod that submits it is created when its cluster is ready", ENABLED)),
    "ray-service": Family(
        {"headgroup": ["serve-head"], "small": numbered("serve-small-worker-", 0, 1, 2)},
        {"ray-serve-pg": Group(2, cpu="3")}, placed=4, notes=("its cluster is named like it", ENABLED)),
    "ray-cron-job": Family(
        {"headgroup": ["nightly-head"], "small": ["nightly-small-worker-0"]}, {"ray-nightly-pg": Group(2, cpu="3")},
        placed=2, notes=(NEXT_RUN, ENABLED)),
    "ray-cluster-network-topology": Family(
        {"headgroup": ["sliced-head"], "near": numbered("sliced-near-worker-", 0, 1, 2),
         "hosts": numbered("sliced-hosts-worker-", 0, 1, 2, 3)},
        {"ray-sliced-pg": Group(7, "", "urgent", "7")}, placed=8, notes=(ENABLED,)),
    "scheduled-spark-application": Family(
        {"spark-nightly-pg": ["nightly-driver", "nightly-exec-1"]}, {"spark-nightly-pg": Group(1, "research", cpu="2")},
        placed=2, notes=(NEXT_RUN, "its executors are planned with its driver", ENABLED)),
    "spark-application": Family(
        {"spark-pi-pg": ["pi-driver", *numbered("pi-exec-", 1, 2)]},
        {"spark-pi-pg": Group(1, "research", "urgent", "5")}, placed=3,
        notes=("its executors are planned with its driver", ENABLED)),
    "spark-connect": Family(
        {"podgroup-connect": ["connect-server"], "podgroup-connect-server": numbered("connect-exec-", 1, 2)},
        {"podgroup-connect": Group(1, cpu="1"), "podgroup-connect-server": Group(1, cpu="1")}, placed=3,
        notes=("its executors are planned with its server",)),
    "app-wrapper": Family(
        {"podgroup-bundle": ["probe"], "server-0": ["server-0", "server-0-1"]},
        {"server-0": Group(2, cpu="2"), "podgroup-bundle": Group(1, cpu="1")}, placed=3,
        notes=("its queue user-queue and priority class production are Kueue's", ENABLED)),
    "workflow": by_owner(
        "diamond", ["diamond-A", *numbered("diamond-C-each-", 0, 1)], placed=3, queue="research", priority="urgent"),
    "workflow-targets": by_owner(
        "targets", [*numbered("targets-load-", 0, 1), "targets-report-one-0"], placed=3, priority="urgent",
        notes=("it runs 1 pod at once",)),
    "workflow-resource": Family(
        {"podgroup-creator": ["creator-create", "creator-measure"], "worker": numbered("gang-worker-", 0, 1)},
        {"gang": Group(2, "research", cpu="2"), "podgroup-creator": Group(1, "", "urgent")}, placed=4),
    "cron-workflow": by_owner("nightly", ["nightly"], placed=1, cpu="3", notes=(NEXT_RUN,)),
}  # fmt: skip


def described(manifests: Manifests, plan: SchedulingPlan) -> Family:
    pods: dict[str, list[str]] = {}
    groups: dict[str, Group] = {}
    for each in manifests.objects:
        if isinstance(each, kube.Pod):
            entries = each.metadata.annotations or {}
            role = entries.get("volcano.sh/task-spec") or entries["scheduling.k8s.io/group-name"]
            pods.setdefault(role, []).append(each.metadata.name)
        elif isinstance(each, kube.PodGroup):
            spec = each.spec
            cpu = str((spec.min_resources or {}).get("cpu", ""))
            minimum = -1 if spec.min_member is None else spec.min_member
            groups[each.metadata.name] = Group(minimum, spec.queue or "", spec.priority_class_name or "", cpu)
    return Family(pods, groups, len(plan.binds))


@pytest.mark.parametrize("name", FAMILY_CASES)
def test_family_has_the_pods_and_groups_of_its_controllers(name: str) -> None:
    manifests, expected = read(name), FAMILY_CASES[name]
    assert (manifests.problems, manifests.unjudged) == ([], [])
    assert described(manifests, plan_of(manifests.objects)) == expected._replace(notes=())
    notes = [line.split(": ", 3)[3] for line in manifests.notes]
    assert len(notes) == len(expected.notes)
    assert all(note.startswith(start) for note, start in zip(notes, expected.notes, strict=True)), notes


def test_every_kind_has_a_manifest() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*FAMILY_CASES, "cluster"}
    documents = (each for path in FOLDER.glob("*.yaml") for each in yaml.safe_load_all(path.read_text()))
    kinds = {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in documents}
    assert FAMILIES.keys() - kinds == set()
