"""Clusters of files, objects and dumps: plans and explanations as those of the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import stromboli as sb
from stromboli.api import Job, Key, Plugin
from stromboli.cli import main
from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump, DumpError, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.kube.client.config.connection import ConnectionProblem
from stromboli.kube.manifests.manifests import ManifestError
from stromboli.kube.objects.kinds import decode
from tests.testing.manifests.builders import gang, node, queue

EXAMPLE = Path(__file__).parents[3] / "examples" / "cluster"
NOW = 1_767_268_800.0
POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "small"},
    "spec": {"schedulerName": "stromboli", "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
}  # fmt: skip
TEXT = """\
apiVersion: v1
kind: Pod
metadata: {name: small}
spec: {schedulerName: stromboli, containers: [{name: main, resources: {requests: {cpu: 1}}}]}
"""


@pytest.fixture(scope="module")
def cluster() -> sb.Cluster:
    return sb.Cluster.from_files(EXAMPLE, now=NOW)


def printed(*arguments: str) -> Any:
    result = CliRunner().invoke(main, [*arguments, "-f", str(EXAMPLE), "--now", "2026-01-01T12:00:00Z", "-o", "json"])
    return json.loads(result.stdout)


def test_plan_is_that_of_the_command(cluster: sb.Cluster) -> None:
    plan = cluster.plan()
    found = printed("plan")
    assert json.loads(json.dumps(plan.to_dict())).items() <= found.items()
    assert plan.binds == found["binds"]
    assert plan.waiting == ["research/finetune", "research/sweep"]
    assert not plan.is_complete


def test_explanation_is_that_of_the_command(cluster: sb.Cluster) -> None:
    explanation = cluster.explain("research/finetune")
    found = printed("explain", "finetune")
    assert json.loads(json.dumps(explanation.to_dict())).items() <= found.items()
    assert explanation.smallest_change == found["smallestChange"]["description"]
    assert explanation.reasons[0].startswith("ExceedsCluster: ")
    assert cluster.plan().explain("sweep").job == "research/sweep"


@pytest.mark.parametrize("form", ["mapping", "list", "text", "path"])
def test_job_may_be_a_path_a_mapping_text_or_a_list(cluster: sb.Cluster, form: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TEXT)
    job: Any = {"mapping": POD, "list": [POD], "text": TEXT, "path": tmp_path / "job.yaml"}[form]
    plan = cluster.plan(job)
    assert list(plan.jobs) == ["default/podgroup-small"]
    assert list(plan.binds) == ["default/small"]
    assert plan.warnings == []


def test_class_of_a_cell_decides_a_plan() -> None:
    class LastFirst(Plugin):
        name = "last-first"

        def job_order(self, job: Job) -> Key:
            return tuple(-ord(letter) for letter in job.key)

    objects = [node("n", cpu=1), *gang(1, 1, name="a"), *gang(1, 1, name="b")]
    cluster = sb.Cluster.from_objects(objects, policy=sb.Policy(["gang", "predicates"]))
    assert cluster.plan().waiting == ["default/b"]
    other = cluster.with_policy(sb.Policy([LastFirst, "gang", "predicates"]))
    assert other.plan().waiting == ["default/a"]
    assert "lower" not in (other.explain("a").smallest_change or "")


def test_dump_is_planned_with_its_policy_and_a_job(tmp_path: Path) -> None:
    state = Cluster()
    for document in (queue("default"), node("n", cpu=4), *gang(2, 1, name="a")):
        state.apply(decode(document))  # type: ignore[arg-type]
    write_dump(tmp_path / "dump.json.gz", Dump(contents_of(state), NOW, DEFAULT_TEXT))
    cluster = sb.Cluster.from_dump(tmp_path / "dump.json.gz")
    assert len(cluster.plan().binds) == 2
    with_job = cluster.plan(POD)
    assert (list(with_job.jobs), list(with_job.binds.values())) == (["default/podgroup-small"], ["n"])


INVALID: dict[str, tuple[type[Exception], str, Callable[[sb.Cluster], object]]] = {
    "job": (LookupError, "no job is called nope; there are", lambda cluster: cluster.explain("nope")),
    "path": (ManifestError, "does not exist", lambda cluster: cluster.plan("missing.yaml")),
    "manifest": (ManifestError, "apiVersion: is missing", lambda cluster: cluster.plan({"kind": "Pod"})),
    "text": (ManifestError, "mapping", lambda cluster: cluster.plan("a: b: c\n")),
    "objects": (TypeError, "objects are mappings", lambda cluster: cluster.plan([1])),  # type: ignore[list-item]
    "files": (ManifestError, "does not exist", lambda cluster: sb.Cluster.from_files("missing")),
    "no files": (TypeError, "at least one file", lambda cluster: sb.Cluster.from_files()),
    "kubeconfig": (ConnectionProblem, "/missing", lambda cluster: sb.Cluster.from_kubeconfig("/missing")),
    "dump": (DumpError, "is not a dump", lambda cluster: sb.Cluster.from_dump(EXAMPLE / "nodes.yaml")),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID)
def test_invalid_input_is_rejected_with_a_message(cluster: sb.Cluster, case: str) -> None:
    error, message, call = INVALID[case]
    with pytest.raises(error, match=message):
        call(cluster)


def test_representations_escape_names() -> None:
    policy = sb.Policy(["gang", "predicates"], name="<u>")
    cluster = sb.Cluster.from_objects([node("<i>", cpu=1), *gang(2, 1, name="<b>", queue="<script>")], policy=policy)
    plan = cluster.plan()
    for shown in (cluster._repr_html_(), plan._repr_html_(), cluster.explain("<b>")._repr_html_()):
        assert not any(tag in shown for tag in ("<b>", "<i>", "<script>", "<u>"))
    assert "&lt;u&gt;" in cluster._repr_html_()
