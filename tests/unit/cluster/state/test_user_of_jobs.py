"""The user of a job as pods and its group come, change and go: one answer for decisions, usage and history."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.state.cluster import Cluster
from stromboli.cluster.state.usage_meter import UsageMeter
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.kube.objects.kinds import decode
from stromboli.workloads.users import USER
from tests.testing.manifests.builders import gang, nodes, queue, running

JOB = "default/job"


def objects(annotations: dict[str, str], labels: dict[str, str], *of_pods: str) -> list[Any]:
    """A group with this metadata, and a pod for each of these users."""
    group, *pods = gang(len(of_pods), name="job")
    group["metadata"] |= {"annotations": annotations, "labels": labels}
    for pod, user in zip(pods, of_pods, strict=True):
        pod["metadata"]["labels"] = {USER: user} if user else {}
    return [group, *pods]


def user_in(cluster: Cluster) -> str:
    user = cluster.cluster_state().jobs[JOB].spec.user
    assert cluster.pods.user_of(cluster.groups[JOB]) == user
    return user


USERS = [
    pytest.param(objects({USER: "ana"}, {USER: "ben"}, "eve", "eve"), "ana", id="annotation of the group"),
    pytest.param(objects({}, {USER: "ben"}, "eve"), "ben", id="label of the group"),
    pytest.param(objects({}, {}, "", "eve"), "eve", id="a pod"),
    pytest.param(objects({USER: "u" * 2000}, {}), "u" * 1024, id="a name that is too long"),
    pytest.param(objects({USER: "a\0na"}, {}), "ana", id="a name that no database keeps"),
    pytest.param(objects({}, {}, "eve", "dan"), "dan", id="the first of several"),
    pytest.param(objects({}, {}, ""), "", id="none"),
    pytest.param(objects({USER: 250_000 * "x"}, {}, "eve"), 1024 * "x", id="very long name"),
]


@pytest.mark.parametrize(("documents", "expected"), USERS)
def test_user_does_not_depend_on_the_order_of_events(documents: list[Any], expected: str) -> None:
    for order in itertools.permutations(documents):
        cluster = Cluster()
        cluster.apply(decode(queue("default")))  # type: ignore[arg-type]
        for document in order:
            cluster.apply(decode(document))  # type: ignore[arg-type]
            cluster.cluster_state()
        assert user_in(cluster) == expected


def test_user_follows_pods_that_change_and_go() -> None:
    cluster = Cluster()
    group, pod, other = (decode(each) for each in objects({}, {}, "eve", "zoe"))
    assert isinstance(pod, kube.Pod)
    assert isinstance(other, kube.Pod)
    for each in (decode(queue("default")), group, pod, other):
        cluster.apply(each)  # type: ignore[arg-type]
    assert user_in(cluster) == "eve"
    renamed = msgspec.structs.replace(pod.metadata, annotations={**(pod.metadata.annotations or {}), USER: "abe"})
    cluster.apply(msgspec.structs.replace(pod, metadata=renamed))
    assert user_in(cluster) == "abe"
    cluster.remove(pod)
    assert user_in(cluster) == "zoe"
    cluster.remove(other)
    assert user_in(cluster) == ""
    assert cluster.pods.users == {}


def test_usage_is_charged_to_the_user_of_the_decisions() -> None:
    cluster = Cluster()
    documents = running("a", name="job")
    for document in documents:
        if document["kind"] == "Pod":
            document["metadata"]["labels"] = {USER: "eve"}
    for document in [queue("default"), *nodes(4, 2), *documents]:
        cluster.apply(decode(document))  # type: ignore[arg-type]
    assert user_in(cluster) == "eve"
    UsageMeter(cluster).observe_all(now=100.0)
    assert cluster.past_usage is not None
    used = cluster.past_usage.at(200.0, UsageDecay(), cluster.axis, len(cluster.axis))
    assert used.users_of("default") == ["eve"]
