"""`stromboli explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import foreign, gang, group, node, nodes, pod, priority_class, queue, running
from tests.testing.manifests.hypernodes import HARD_RACK, SOFT, TREE, network
from tests.unit.cli.conftest import Run

CROWDED = [
    *nodes(4, 2, labels={"zone": "x"}), node("gpu", 16, gpu=4, taints=["gpu=true:NoSchedule"]),
    queue("research", 3, capability={"cpu": 40}), priority_class("urgent", 1000),
    foreign("a", 3), *gang(2, 2, name="first", queue="research", priority="urgent"),
    *gang(3, 2, name="train", queue="research"),
]  # fmt: skip

WHY = """\
default/train waits: 3 nodes: 2 insufficient cpu, 1 untolerated taint gpu=true.
0 of 3 pods are scheduled, and 3 must start together.

  Why
    UntoleratedTaint (change the request): 1 node(s) had untolerated taint {gpu: true}
      The node has a taint that the pod does not tolerate. Add a toleration, or remove the taint.
      May change when: a node's labels, taints or allocatable change; a node is added; the pod
        itself changes.
    InsufficientResource (wait): 2 Insufficient cpu
      The node, or the whole cluster, does not have enough of a resource. Wait for pods to end, ask
        for less, or add nodes.
      May change when: a pod ends or is removed; a node is added; a node's labels, taints or
        allocatable change.

  Waiting pods
    3 pods, each requesting cpu 2
      default/train-task-0, default/train-task-1, default/train-task-2
      one could run on 0 of 3 nodes:
        2 Insufficient cpu: a, b (largest free: cpu 1 on a)
        1 node(s) had untolerated taint {gpu: true}: gpu

  Queue research (Open, weight 3); the job is admitted
    RESOURCE  REQUESTED  ALLOCATED  DESERVED  CAPABILITY
    cpu               6          4        10          40

  Jobs ahead in the same queue
    JOB            PRIORITY  IN THIS CYCLE
    default/first      1000  2 pods placed

  The smallest change that would let it start
    add a toleration for taint {gpu: true} to 3 pods
"""


def test_waiting_job_is_explained_as_text(run: Run) -> None:
    result = run("explain", CROWDED, "train")
    shown = result.stdout.splitlines(keepends=True)
    assert (result.exit_code, result.stderr) == (3, "")
    assert "".join(shown[: len(WHY.splitlines())]) == WHY
    assert [line.split()[:2] for line in shown[len(WHY.splitlines()) :]] == [["or", "request"], ["or", "add"]]


def explained(run: Run, manifests: list[Any], job: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(run("explain", manifests, job, "-o", "json").stdout)
    return report


def test_waiting_job_is_explained_as_json(run: Run) -> None:
    report = explained(run, CROWDED, "train")
    assert set(report) == {
        "job", "waiting", "summary", "phase", "priority", "minMember", "ready", "pods", "nodes", "reasons", "domains",
        "classes", "queue", "ahead", "evictions", "smallestChange", "alternatives", "search", "warnings",
    }  # fmt: skip
    assert report["reasons"][1] == {
        "code": "InsufficientResource",
        "messages": ["2 Insufficient cpu"],
        "meaning": "The node, or the whole cluster, does not have enough of a resource.",
        "remedy": "wait",
        "advice": "Wait for pods to end, ask for less, or add nodes.",
        "retryEvents": ["a pod ends or is removed", "a node is added", "a node's labels, taints or allocatable change"],
    }
    assert report["classes"][0]["refusals"][0] == {
        "code": "InsufficientResource", "reason": "Insufficient cpu", "count": 2, "nodes": ["a", "b"],
        "largestFree": {"resource": "cpu", "amount": "1", "node": "a"},
    }  # fmt: skip
    assert report["queue"]["resources"] == {
        "cpu": {"requested": "6", "allocated": "4", "deserved": "10", "capability": "40"}
    }
    assert report["ahead"] == [{"job": "default/first", "priority": 1000, "bound": 2, "waiting": False}]
    change = report["smallestChange"]
    assert (change["kind"], change["object"], change["field"], change["from"]) == (
        "add-toleration", "Pod default/train-task-0", "spec.tolerations", [],
    )  # fmt: skip
    assert len(change["edits"]) == 3


def test_running_job_does_not_wait(run: Run) -> None:
    result = run("explain", CROWDED, "first")
    assert (result.exit_code, result.stdout) == (0, "default/first does not wait: it is Running on b ×2.\n")
    assert explained(run, CROWDED, "first")["nodes"] == {"b": 2}


AWARE = configuration("gang", "predicates", "network-topology-aware")
PLACED = """\
default/gang does not wait: it is Running on b ×1, c ×1, d ×1.

  Network domains
    3 pods placed in block-0 (tier 2), score 100.0; no domain of tier 1 had capacity for 3 pods
      rack-0 (tier 1): holds at most 1 of 3 pods
      rack-1, rack-2, rack-3 (tier 1): holds at most 2 of 3 pods
      block-1 (tier 2): score 75.0, less than 100.0 of block-0
      the whole cluster (tier 3): a closer one was found
"""


def test_domain_search_is_explained(run: Run, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(AWARE)
    world = [*TREE, *running("a", cpu=2), *gang(3, cpu=2, topology=SOFT)]
    assert run("explain", world, "gang", "--conf", str(conf)).stdout == PLACED
    assert PLACED in run("plan", world, "--explain", "--conf", str(conf)).stdout
    report = json.loads(run("plan", world, "--explain", "--conf", str(conf), "-o", "json").stdout)
    assert report["explanations"]["default/gang"]["domains"][0]["placed"]["domain"] == "block-0"
    assert "default/old" not in report["explanations"], "it has no domain search and does not wait"


def test_job_larger_than_a_rack_suggests_soft_topology(run: Run, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(AWARE)
    result = run("explain", [*network(2, "ab", "cd"), *gang(3, cpu=2, topology=HARD_RACK)], "gang", "--conf", str(conf))
    assert "    NoDomainFits (wait): no domain fits the 3 pods it needs" in result.stdout
    assert (
        "    or make the network topology of PodGroup default/gang soft (networkTopology.mode: soft)\n" in result.stdout
    )


def test_running_job_with_waiting_pods_is_explained(run: Run) -> None:
    result = run("explain", [*nodes(4, 1), *gang(6, minimum=2)], "gang")
    assert result.exit_code == 3
    assert result.stdout.startswith(
        "default/gang runs with 4 of 6 pods; 2 more wait: needs 1 cpu, cluster has 4, jobs use 4.\n"
    )
    assert "The smallest change that would place all its pods\n" in result.stdout
    assert "GangDoesNotFit" not in result.stdout, "it has started"


def test_job_with_nominated_capacity_needs_no_change(run: Run) -> None:
    result = run("explain", [*nodes(4, 1), *running("a", 4, releasing=True), *gang(1, 2)], "gang")
    assert result.exit_code == 3
    assert "none: it starts once the terminating pods are gone\n" in result.stdout


def test_native_group_is_found_by_name(run: Run) -> None:
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    metadata = {"name": "train", "namespace": "default"}
    native = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": policy}
    member = {"schedulerName": "volcano", "schedulingGroup": {"podGroupName": "train"}}
    container = {"name": "main", "resources": {"requests": {"cpu": "3"}}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p-{place}"},
            "spec": {**member, "containers": [container]},
        }
        for place in range(2)
    ]
    result = run("explain", [*nodes(4, 1), native, *pods], "train")
    assert result.exit_code == 3
    assert result.output.startswith(
        "default/scheduling.k8s.io:train waits: needs 6 cpu, cluster has 4.\n0 of 2 pods are scheduled"
    )


def test_job_without_pods_is_explained(run: Run) -> None:
    result = run("explain", [*nodes(4, 1), group("gang", 3)], "gang")
    assert result.exit_code == 3
    assert "NoPodsYet (wait): " in result.stdout
    assert "its pods: none exists, and 3 must start together\n" in result.stdout


def test_job_that_lost_its_pods_has_no_jobs_ahead(run: Run) -> None:
    result = run("explain", [*nodes(4, 1), group("gang", 3, phase="Running"), *gang(5, name="other")], "gang")
    assert result.exit_code == 3
    assert "Jobs ahead" not in result.stdout, "it has no waiting pods"


def test_placed_members_are_counted(run: Run) -> None:
    """Capacity of placed members is not reported as free, so that the numbers match the reason."""
    strangers = [foreign("a", 3, name="one"), foreign("b", 1, name="two")]
    report = explained(run, [*nodes(4, 2), *strangers, *gang(3, 2)], "gang")
    group = report["classes"][0]
    assert (group["placed"], group["foundNoNode"], group["openNodes"]) == (1, True, 0)
    assert group["refusals"][0]["largestFree"] == {"resource": "cpu", "amount": "1", "node": "a"}


def test_gang_larger_than_example_cluster_exceeds_cluster() -> None:
    examples = Path(__file__).parents[3] / "examples" / "cluster"
    result = CliRunner().invoke(main, ["explain", "-f", str(examples), "finetune", "-o", "json"])
    report = json.loads(result.stdout)
    (reason,) = report["reasons"]
    assert (reason["code"], reason["remedy"]) == ("ExceedsCluster", "change the request")
    assert reason["messages"] == [
        "the 3 pods that must start together request nvidia.com/gpu 12, but the cluster has nvidia.com/gpu 8"
    ]
    assert report["classes"][0]["reason"] == "", "the share of the queue does not matter"
    kinds = [report["smallestChange"]["kind"], *(change["kind"] for change in report["alternatives"])]
    assert kinds == ["lower-min-member", "lower-request", "add-nodes"]


def test_job_that_is_not_admitted_shows_feasible_nodes(run: Run) -> None:
    report = explained(run, [*nodes(4, 2), *gang(1, resources={"cpu": 50})], "gang")
    assert [reason["code"] for reason in report["reasons"]] == ["ExceedsCluster"]
    assert (report["queue"]["admitted"], report["classes"][0]["openNodes"]) == (False, 2)


# -- names of jobs ----------------------------------------------------------------------------------------------------

NAMED = [
    *nodes(4, 1),
    *gang(2, name="train"),
    *gang(1, name="tune", namespace="a"),
    *gang(1, name="tune", namespace="b"),
]

MEANT = [
    ("namespace and name", "default/train", "default/train"),
    ("the name alone", "train", "default/train"),
    ("one of its pods", "default/train-task-1", "default/train"),
    ("the name of a pod", "train-task-0", "default/train"),
]


@pytest.mark.parametrize(("name", "given", "job"), MEANT, ids=[case[0] for case in MEANT])
def test_job_is_found_by_its_names(name: str, given: str, job: str, run: Run) -> None:
    assert explained(run, NAMED, given)["job"] == job


def test_plain_pod_is_a_job(run: Run) -> None:
    report = explained(run, [*nodes(1, 1), pod(4, name="lonely")], "lonely")
    assert (report["waiting"], report["pods"]) == (True, 1)
    assert report["smallestChange"]["description"] == "request cpu 1 instead of 4 in pod default/lonely"


UNKNOWN = [
    ("misspelt name", NAMED, "trian", "error: no job is called trian; did you mean default/train?\n"),
    ("ambiguous name", NAMED, "tune", "error: several jobs are called tune: a/tune, b/tune; add the namespace\n"),
    ("unknown name", NAMED, "xyz", "error: no job is called xyz; there are a/tune, b/tune, default/train\n"),
    ("no jobs", nodes(4, 1), "xyz",
     "error: no job is called xyz: there is no PodGroup and no pod to schedule\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "manifests", "job", "message"), UNKNOWN, ids=[case[0] for case in UNKNOWN])
def test_unknown_job_is_an_error(name: str, manifests: list[Any], job: str, message: str, run: Run) -> None:
    result = run("explain", manifests, job)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)


def test_name_of_plan_is_accepted(run: Run) -> None:
    names = run("plan", NAMED, "-o", "name").stdout.splitlines()
    assert names == [f"podgroup.scheduling.volcano.sh/{key}" for key in ("a/tune", "b/tune", "default/train")]
    assert explained(run, NAMED, names[1])["job"] == "b/tune"


def test_wrong_usage(run: Run) -> None:
    assert run("explain", NAMED).exit_code == 2
    assert run("explain", NAMED, "train", "-o", "text").exit_code == 2
    assert CliRunner().invoke(main, ["explain", "train"]).exit_code == 2


def test_warnings_come_first(run: Run) -> None:
    Path("cluster/other.json").write_text('{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}')
    result = run("explain", NAMED, "train")
    assert result.stderr == "note: objects of kinds that the scheduler does not read were skipped: 1 Secret\n"
    assert explained(run, NAMED, "train")["warnings"] == [result.stderr.strip()]
