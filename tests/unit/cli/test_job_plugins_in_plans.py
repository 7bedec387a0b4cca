"""Plans change the pods of Volcano Jobs by the plugins that the controller uses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stromboli.cli import main

NODE = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"},
    "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}},
}  # fmt: skip


def job(plugins: dict[str, list[str]], **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], **spec}}
    tasks = [{"name": name, "replicas": 1, "template": template} for name in ("master", "worker")]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train"},
        "spec": {"plugins": plugins, "tasks": tasks},
    }  # fmt: skip


def plan(document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    manifests = yaml.safe_dump_all([NODE, document])
    result = CliRunner().invoke(main, ["plan", "-f", "-", "--offline", "-o", "json"], input=manifests)
    return result.exit_code, json.loads(result.stdout)


PLACED: dict[str, tuple[dict[str, Any], int]] = {
    "without plugins": (job({}, hostNetwork=True), 2),
    "a port in the network of the host, which two pods of a node cannot have": (job({"mpi": []}, hostNetwork=True), 0),
    "the same port in networks of pods": (job({"mpi": []}), 2),
}


@pytest.mark.parametrize(("document", "placed"), PLACED.values(), ids=PLACED)
def test_changes_of_plugins_count_in_plans(document: dict[str, Any], placed: int) -> None:
    assert len(plan(document)[1]["binds"]) == placed


def test_plugin_that_is_not_installed_is_left_out_with_a_note() -> None:
    _, report = plan(job({"cluster": [], "svc": []}))
    (note,) = report["warnings"]
    assert "its plugin cluster is not installed here; its changes of pods are left out" in note
    assert len(report["binds"]) == 2


def test_job_that_a_plugin_cannot_work_with_is_an_error() -> None:
    code, report = plan(job({"mpi": ["--master=launcher"]}))
    (message,) = report["warnings"]
    assert "Job train: spec.plugins.mpi: The specified mpi master task was not found: launcher; add task" in message
    assert (code, report["binds"]) == (3, {})
