"""Defaults as patches, which are idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.json_patch import patch_between
from stromboli.admission.requests import Request
from stromboli.admission.review import review
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.core.model.devices.gpu_fractions import FRACTION
from stromboli.local.patching.patches import json_patch
from stromboli.workloads.groups import GROUP_NAME
from tests.testing.random_clusters.effort import examples
from tests.unit.admission.requests import FACTS, POLICY, Document, pod, request

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
NATIVE = "scheduling.k8s.io"


class Shares(BinderPlugin):
    """Adds an environment variable to pods with a share."""

    name: ClassVar[str] = "shares"

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        share = pod["metadata"].get("annotations", {}).get("share", "1")
        return [] if share.isdecimal() else [f"metadata.annotations[share]: {share!r} is not a share; write a number"]

    def mutate(self, pod: dict[str, Any]) -> None:
        entry = {"name": "SHARE", "value": pod["metadata"]["annotations"]["share"]}
        environment = pod["spec"]["containers"][0].setdefault("env", [])
        if entry not in environment:
            environment.append(entry)


SHARING = AdmissionPolicy(plugins=(Shares(),))


def assign(name: str) -> Document:
    return {"op": "replace", "path": "/spec/schedulerName", "value": name}


CASES: dict[str, tuple[Request, AdmissionPolicy, list[Document]]] = {
    "pod of this scheduler": (request("Pod", pod()), POLICY, []),
    "a pod that names a group": (
        request("Pod", pod(scheduler="default-scheduler", group="g")), POLICY, [assign("stromboli")]),
    "a pod that names a queue": (
        request("Pod", pod(scheduler="default-scheduler", labels={QUEUE_NAME: "science"})), POLICY,
        [assign("stromboli")]),
    "pod without group and queue": (request("Pod", pod(scheduler="default-scheduler")), POLICY, []),
    "pod of another scheduler": (request("Pod", pod(scheduler="other", group="g")), POLICY, []),
    "scheduler assignment disabled": (
        request("Pod", pod(scheduler="default-scheduler", group="g")), AdmissionPolicy(assigns_scheduler=False), []),
    "another name": (
        request("Pod", pod(scheduler="default-scheduler", group="g")), AdmissionPolicy(scheduler_names=("night",)),
        [assign("night")]),
    "a group that names a queue": (request("PodGroup", {"spec": {"queue": "physics"}}, namespace="lab"), POLICY, []),
    "a group in a namespace with a queue": (
        request("PodGroup", {"spec": {"queue": "default"}}, namespace="lab"), POLICY,
        [{"op": "replace", "path": "/spec/queue", "value": "science"}]),
    "empty group": (
        request("PodGroup", {}), POLICY, [{"op": "add", "path": "/spec", "value": {"queue": "default"}}]),
    "a group that names its queue by annotation": (
        request("PodGroup", {"metadata": {"annotations": {QUEUE_NAME: "physics"}}, "spec": {"queue": "default"}},
                namespace="lab"), POLICY, []),
    "a native group in a namespace with a queue": (
        request("PodGroup", {}, namespace="lab", group=NATIVE), POLICY,
        [{"op": "add", "path": "/metadata/annotations", "value": {QUEUE_NAME: "science"}}]),
    "a native group elsewhere": (request("PodGroup", {}, group=NATIVE), POLICY, []),
    "a change": (request("PodGroup", {"spec": {}}, before={"spec": {}}), POLICY, []),
    "invalid group": (request("PodGroup", {"spec": {"minMember": "x"}}, namespace="lab"), POLICY, []),
    "mutation by plugin": (
        request("Pod", pod(annotations={"share": "2"})), SHARING,
        [{"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "SHARE", "value": "2"}]}]),
    "no mutation of other schedulers' pods": (
        request("Pod", pod(scheduler="other", annotations={"share": "2"})), SHARING, []),
}  # fmt: skip


@pytest.mark.parametrize("title", CASES)
def test_defaults_are_set_once(title: str) -> None:
    asked, policy, wanted = CASES[title]
    patch = patch_for(asked, FACTS, policy)
    assert patch == wanted
    asked = replace_object(asked, json_patch(asked.object, patch))
    assert patch_for(asked, FACTS, policy) == []


def replace_object(asked: Request, document: Document) -> Request:
    return Request(asked.uid, asked.kind, asked.name, asked.namespace, asked.operation, object=document)


def test_binder_plugins_validate_and_mutate_pods() -> None:
    odd = request("Pod", pod(annotations={"share": "half"}))
    message = "Pod team/sample: metadata.annotations[share]: 'half' is not a share; write a number"
    assert review(odd, FACTS, SHARING).message == message
    assert review(request("Pod", pod(annotations={"share": "2"})), FACTS, SHARING).is_allowed
    job = request("Job", {"spec": {"template": pod(annotations={"share": "half"})}})
    assert "Job team/sample: spec.template.metadata.annotations[share]: 'half'" in review(job, FACTS, SHARING).message


def test_explicit_values_are_kept() -> None:
    asked = request("Pod", pod(scheduler="default-scheduler", annotations={GROUP_NAME: "g", "share": "2"}))
    before = repr(asked.object)
    assert patch_for(asked, FACTS, replace(POLICY, plugins=(Shares(),)))
    assert repr(asked.object) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b/c", "d~e"]),
    lambda parts: (
        st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/c", "d~e", ""]), parts, max_size=3)
    ),
    max_leaves=8,
)


@examples(150)
@given(JSON, JSON)
def test_patch_turns_before_into_after(before: Any, after: Any) -> None:
    before, after = {"x": before}, {"x": after}
    patch = patch_between(before, after)
    assert repr(sorted_deep(json_patch(before, patch))) == repr(sorted_deep(after))
    assert patch_between(after, after) == []


def sorted_deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_deep(value[key]) for key in sorted(value)}
    return [sorted_deep(each) for each in value] if isinstance(value, list) else value


GPU_POLICY = AdmissionPolicy(plugins=(GpuSharingPlugin(),))


def sharing(**annotations: str) -> Request:
    return request("Pod", pod(annotations=annotations))


def test_gpu_sharing_pod_is_mutated_once() -> None:
    asked = sharing(**{FRACTION: "0.5"})
    assert review(asked, FACTS, GPU_POLICY).is_allowed
    patch = patch_for(asked, FACTS, GPU_POLICY)
    assert {each["path"].split("/")[1] for each in patch} == {"metadata", "spec"}
    ready = replace_object(asked, json_patch(asked.object, patch))
    assert patch_for(ready, FACTS, GPU_POLICY) == []
    assert review(ready, FACTS, GPU_POLICY).is_allowed


@pytest.mark.parametrize("share", ["0", "1.5", "-1", "half", "nan"])
def test_invalid_gpu_fraction_is_rejected(share: str) -> None:
    message = review(sharing(**{FRACTION: share}), FACTS, GPU_POLICY).message
    assert message.startswith(f"Pod team/sample: metadata.annotations[{FRACTION}]: "), message
