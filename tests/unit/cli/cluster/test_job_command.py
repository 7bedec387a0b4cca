"""`stromboli job`: one page about a job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.manifests.builders import gang, group, manifest, nodes, pod, queue, running
from tests.unit.cli.conftest import Run

NOW = ("--now", "2026-01-01T12:00:00Z")
EVICTED = {"type": "Evicted", "status": "True", "reason": "preempt", "message": "pod default/train-0 evicted: preempt"}

CLUSTER: list[Any] = [
    *nodes(4, 1), *running("a", 3, name="old", minimum=1),
    *gang(1, 3, name="ahead"), *gang(2, 2, name="train", phase="Inqueue"), queue("idle"),
]  # fmt: skip

PAGE = """\
default/train: Inqueue
  Queue     default, position 2 of 2
  Priority  0
  Ready     0 of 2 pods, 2 must start together
  Age       -

  Pods
    POD           STATUS   NODE  AGE
    train-task-0  Pending  -       -
    train-task-1  Pending  -       -

  Why
"""


def test_page_of_a_waiting_job_has_its_state_pods_and_reasons(run: Run) -> None:
    result = run("job", CLUSTER, "train", *NOW)
    assert result.exit_code == 3
    assert result.stdout.startswith(PAGE)
    assert "  Waiting pods\n    2 pods, each requesting cpu 2\n" in result.stdout


def test_job_that_the_next_cycle_starts_has_its_nodes(run: Run) -> None:
    result = run("job", [*nodes(4, 2), *gang(2, 3, name="train", phase="Inqueue")], "train", *NOW)
    assert "\n  Next cycle  places 2 pods on a ×1, b ×1\n" in result.stdout
    assert "train-task-0  Pending  -       -  the next cycle places it on a\n" in result.stdout
    assert result.exit_code == 3  # it has not started yet


def test_running_job_has_its_pods_and_does_not_wait(run: Run) -> None:
    result = run("job", CLUSTER, "old", *NOW)
    assert result.exit_code == 0
    assert "  Ready     1 of 1 pod, 1 must start together\n" in result.stdout
    assert "old-task-0  Running  a       -\n" in result.stdout


def test_eviction_is_shown_with_its_cause(run: Run) -> None:
    lost = {**group("train", 2), "status": {"phase": "Pending", "conditions": [EVICTED]}}
    result = run("job", [*nodes(4, 1), lost], "train", "-o", "json")
    assert json.loads(result.stdout)["eviction"] == EVICTED["message"]


STATUSES = {
    "pending": (pod(1, name="p"), "Pending"),
    "gated": (pod(1, name="p", gated=True), "Gated"),
    "starting": (pod(1, name="p", nodeName="a", phase="Pending"), "Starting"),
    "running": (pod(1, name="p", nodeName="a"), "Running"),
    "terminating": (pod(1, name="p", nodeName="a", releasing=True), "Terminating"),
    "succeeded": (pod(1, name="p", nodeName="a", phase="Succeeded"), "Succeeded"),
}


@pytest.mark.parametrize("case", STATUSES)
def test_pods_have_a_status(run: Run, case: str) -> None:
    member, status = STATUSES[case]
    member["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = "train"
    data = json.loads(run("job", [*nodes(4, 1), group("train", 1), member], "train", "-o", "json").stdout)
    assert [each["status"] for each in data["members"]] == [status]


OWNER = [{"apiVersion": "batch/v1", "kind": "Job", "name": "sort", "uid": "u1", "controller": True}]
NAMES = {
    "name": ("train", "default/train"),
    "key": ("default/train", "default/train"),
    "line of -o name": ("podgroup.scheduling.volcano.sh/default/train", "default/train"),
    "pod": ("train-task-1", "default/train"),
    "owner of a generated group": ("sort", "default/podgroup-u1"),
    "owner with its namespace": ("default/sort", "default/podgroup-u1"),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_find_a_job(run: Run, case: str) -> None:
    name, key = NAMES[case]
    owned = manifest("Pod", "sort-x", metadata={"ownerReferences": OWNER}, spec={"schedulerName": "volcano"})
    result = run("job", [*CLUSTER, owned], name, "-o", "name")
    assert result.stdout == f"podgroup.scheduling.volcano.sh/{key}\n"


def test_name_of_several_namespaces_means_the_one_of_the_option(run: Run) -> None:
    both = [*nodes(1, 1), group("train", 1), group("train", 1, namespace="team")]
    assert "several jobs are called train" in run("job", both, "train").stderr
    assert run("job", both, "train", "-n", "team", "-o", "name").stdout.endswith("/team/train\n")


def test_unknown_job_is_an_error_with_similar_names(run: Run) -> None:
    result = run("job", CLUSTER, "trian")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: no job is called trian; did you mean default/train?" in result.stderr
