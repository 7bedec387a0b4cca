"""What is filled in, as the patch that an API server is told, and that asking again changes nothing."""

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
from stromboli.cluster.objects.pod_groups.pod_groups import GROUP_NAME
from stromboli.core.model.devices.gpu_fractions import FRACTION
from stromboli.local.patching.patches import json_patch
from tests.testing.random_clusters.effort import examples
from tests.unit.admission.requests import FACTS, TERMS, Document, pod, request

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
NATIVE = "scheduling.k8s.io"


class Shares(BinderPlugin):
    """Gives every pod that asks for a share the environment for it."""

    name: ClassVar[str] = "shares"

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        share = pod["metadata"].get("annotations", {}).get("share", "1")
        return [] if share.isdecimal() else [f"metadata.annotations[share]: {share!r} is no share; write a number"]

    def mutate(self, pod: dict[str, Any]) -> None:
        entry = {"name": "SHARE", "value": pod["metadata"]["annotations"]["share"]}
        environment = pod["spec"]["containers"][0].setdefault("env", [])
        if entry not in environment:
            environment.append(entry)


SHARING = AdmissionPolicy(plugins=(Shares(),))


def assign(name: str) -> Document:
    return {"op": "replace", "path": "/spec/schedulerName", "value": name}


CASES: dict[str, tuple[Request, AdmissionPolicy, list[Document]]] = {
    "a pod of ours": (request("Pod", pod()), TERMS, []),
    "a pod that names a group": (
        request("Pod", pod(scheduler="default-scheduler", group="g")), TERMS, [assign("stromboli")]),
    "a pod that names a queue": (
        request("Pod", pod(scheduler="default-scheduler", labels={QUEUE_NAME: "science"})), TERMS,
        [assign("stromboli")]),
    "a pod that names nothing": (request("Pod", pod(scheduler="default-scheduler")), TERMS, []),
    "a pod of somebody else": (request("Pod", pod(scheduler="other", group="g")), TERMS, []),
    "schedulers are not given": (
        request("Pod", pod(scheduler="default-scheduler", group="g")), AdmissionPolicy(assigns_scheduler=False), []),
    "another name": (
        request("Pod", pod(scheduler="default-scheduler", group="g")), AdmissionPolicy(scheduler_names=("night",)),
        [assign("night")]),
    "a group that names a queue": (request("PodGroup", {"spec": {"queue": "physics"}}, namespace="lab"), TERMS, []),
    "a group in a namespace with a queue": (
        request("PodGroup", {"spec": {"queue": "default"}}, namespace="lab"), TERMS,
        [{"op": "replace", "path": "/spec/queue", "value": "science"}]),
    "a group that says nothing at all": (
        request("PodGroup", {}), TERMS, [{"op": "add", "path": "/spec", "value": {"queue": "default"}}]),
    "a group that names its queue by annotation": (
        request("PodGroup", {"metadata": {"annotations": {QUEUE_NAME: "physics"}}, "spec": {"queue": "default"}},
                namespace="lab"), TERMS, []),
    "a native group in a namespace with a queue": (
        request("PodGroup", {}, namespace="lab", group=NATIVE), TERMS,
        [{"op": "add", "path": "/metadata/annotations", "value": {QUEUE_NAME: "science"}}]),
    "a native group elsewhere": (request("PodGroup", {}, group=NATIVE), TERMS, []),
    "a change": (request("PodGroup", {"spec": {}}, before={"spec": {}}), TERMS, []),
    "what cannot be read": (request("PodGroup", {"spec": {"minMember": "x"}}, namespace="lab"), TERMS, []),
    "what a plugin needs": (
        request("Pod", pod(annotations={"share": "2"})), SHARING,
        [{"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "SHARE", "value": "2"}]}]),
    "what a plugin would need for pods of others": (
        request("Pod", pod(scheduler="other", annotations={"share": "2"})), SHARING, []),
}  # fmt: skip


@pytest.mark.parametrize("story", CASES)
def test_what_was_not_said_is_filled_in_once(story: str) -> None:
    asked, terms, wanted = CASES[story]
    patch = patch_for(asked, FACTS, terms)
    assert patch == wanted
    asked = replace_object(asked, json_patch(asked.object, patch))
    assert patch_for(asked, FACTS, terms) == []


def replace_object(asked: Request, document: Document) -> Request:
    return Request(asked.uid, asked.kind, asked.name, asked.namespace, asked.operation, object=document)


def test_plugins_of_the_binder_have_a_say_in_what_comes_in() -> None:
    odd = request("Pod", pod(annotations={"share": "half"}))
    words = "Pod team/story: metadata.annotations[share]: 'half' is no share; write a number"
    assert review(odd, FACTS, SHARING).message == words
    assert review(request("Pod", pod(annotations={"share": "2"})), FACTS, SHARING).is_allowed
    job = request("Job", {"spec": {"template": pod(annotations={"share": "half"})}})
    assert "Job team/story: spec.template.metadata.annotations[share]: 'half'" in review(job, FACTS, SHARING).message


def test_what_was_given_stays_as_it_is() -> None:
    asked = request("Pod", pod(scheduler="default-scheduler", annotations={GROUP_NAME: "g", "share": "2"}))
    before = repr(asked.object)
    assert patch_for(asked, FACTS, replace(TERMS, plugins=(Shares(),)))
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
def test_a_patch_makes_one_out_of_the_other(before: Any, after: Any) -> None:
    before, after = {"x": before}, {"x": after}
    patch = patch_between(before, after)
    assert repr(sorted_deep(json_patch(before, patch))) == repr(sorted_deep(after))
    assert patch_between(after, after) == []


def sorted_deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_deep(value[key]) for key in sorted(value)}
    return [sorted_deep(each) for each in value] if isinstance(value, list) else value


GPU_TERMS = AdmissionPolicy(plugins=(GpuSharingPlugin(),))


def sharing(**annotations: str) -> Request:
    return request("Pod", pod(annotations=annotations))


def test_a_pod_that_shares_a_gpu_is_made_ready_for_it_once() -> None:
    asked = sharing(**{FRACTION: "0.5"})
    assert review(asked, FACTS, GPU_TERMS).is_allowed
    patch = patch_for(asked, FACTS, GPU_TERMS)
    assert {each["path"].split("/")[1] for each in patch} == {"metadata", "spec"}
    ready = replace_object(asked, json_patch(asked.object, patch))
    assert patch_for(ready, FACTS, GPU_TERMS) == []
    assert review(ready, FACTS, GPU_TERMS).is_allowed


@pytest.mark.parametrize("share", ["0", "1.5", "-1", "half", "nan"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    message = review(sharing(**{FRACTION: share}), FACTS, GPU_TERMS).message
    assert message.startswith(f"Pod team/story: metadata.annotations[{FRACTION}]: "), message
