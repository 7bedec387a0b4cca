"""Pods of one template are decoded once; whatever distinguishes their facts makes them different templates."""

from __future__ import annotations

from dataclasses import fields

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.objects.pods.classes import Classifier, PodFacts
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.tasks.task_class import LIMITS
from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.pod import ContainerStatus, PodStatus
from tests.testing.random_clusters import objects

SMALL = objects.template({"cpu": "1"})
ROLE = "volcano.sh/task-spec"
RESIZED = PodStatus(container_statuses=[ContainerStatus(name="main", allocated_resources={"cpu": "2"})])
REJECTED = msgspec.structs.replace(RESIZED, conditions=[KubeCondition(type="PodResizePending", reason="Infeasible")])
LIMITED = kube.ResourceRequirements(requests={"cpu": "1"}, limits={"cpu": "2"})
SPREAD = kube.TopologySpreadConstraint(
    max_skew=1,
    topology_key=objects.HOSTNAME,
    label_selector=kube.KubeLabelSelector(match_labels={"app": "web"}),
    match_label_keys=["rank"],
)


def pod(spec: kube.PodSpec = SMALL, *, status: PodStatus | None = None, **metadata: object) -> kube.Pod:
    own = kube.ObjectMeta(**{"name": "pod", "namespace": "team", "uid": "pod", **metadata})  # type: ignore[arg-type]
    return kube.Pod(metadata=own, spec=spec, status=status or PodStatus())


def spec(**changes: object) -> kube.PodSpec:
    return msgspec.structs.replace(SMALL, **changes)


PODS = {
    "small": pod(),
    "on a node": pod(spec(node_name="a")),
    "larger": pod(objects.template({"cpu": "2"})),
    "role by label": pod(labels={ROLE: "worker"}),
    "role by annotation": pod(annotations={ROLE: "master"}),
    "label that a plugin reads": pod(labels={"team": "blue"}),
    "annotation that a plugin reads": pod(annotations={"tier": "gold"}),
    "limits": pod(spec(containers=[kube.Container(name="main", resources=LIMITED)])),
    "image": pod(spec(containers=[kube.Container(name="main", image="web")])),
    "granted more": pod(status=RESIZED),
    "resize infeasible": pod(objects.template({"cpu": "4"}), status=REJECTED),
    "resize in progress": pod(objects.template({"cpu": "4"}), status=RESIZED),
    "node selector": pod(spec(node_selector={"disk": "ssd"})),
    "spread by rank 0": pod(spec(topology_spread_constraints=[SPREAD]), labels={"rank": "0", "app": "web"}),
    "spread by rank 1": pod(spec(topology_spread_constraints=[SPREAD]), labels={"rank": "1", "app": "web"}),
    "spread in another namespace": pod(spec(topology_spread_constraints=[SPREAD]), namespace="other"),
}


def new_classifier() -> Classifier:
    return Classifier(ResourceAxis(), TermRegistry(), ("team",), ("tier", LIMITS))


def contents(facts: PodFacts) -> dict[str, object]:
    return {field.name: getattr(facts, field.name) for field in fields(facts)}


@pytest.mark.parametrize("name", PODS)
def test_facts_do_not_depend_on_pods_decoded_before(name: str) -> None:
    classifier = new_classifier()
    for other in PODS.values():
        classifier.facts(other, {})
    assert contents(classifier.facts(PODS[name], {})) == contents(new_classifier().facts(PODS[name], {}))


def test_pods_of_one_template_share_their_facts() -> None:
    classifier = new_classifier()
    first = classifier.facts(pod(name="web-0", uid="0", labels={"index": "0"}), {})
    second = classifier.facts(pod(spec(node_name="a"), name="web-1", uid="1", labels={"index": "1"}), {})
    assert first is second


def test_amount_that_cannot_be_encoded_is_reported() -> None:
    huge = kube.Container(name="main", resources=kube.ResourceRequirements(requests={"cpu": 10**30}))
    with pytest.raises(ValueError, match=r"spec\.containers"):
        new_classifier().facts(pod(spec(containers=[huge])), {})


def test_number_of_remembered_templates_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.cluster.objects.pods.classes._MAX_REMEMBERED", 3)
    classifier = new_classifier()
    for place in range(10):
        classifier.facts(pod(spec(node_selector={"host": str(place)})), {})
    assert len(classifier._templates) <= 3
