"""The webhook makes an access review for the queue in which the scheduler places the pods.

All kinds of workloads, all places that can name a queue, and all keys; several of them at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.admission.review import review
from stromboli.kube.objects.kinds import as_type
from stromboli.kube.objects.pod_owners import POD_OWNERS
from stromboli.workloads.plain_groups import group_for
from stromboli.workloads.queues import DEFAULT_QUEUE, QUEUE_NAMES, queue_name_of
from stromboli.workloads.templates import VOLCANO_JOB, WORKLOADS, Kind
from tests.unit.admission.requests import ALICE, FACTS, POLICY, Document, pod, queue, request

NAMES = ("default", "science", "physics", "other")
CLOSE = replace(POLICY, public_queues=frozenset())
ALL = FACTS.with_queues({name: queue(name) for name in NAMES})
ENTRIES = st.dictionaries(st.sampled_from(QUEUE_NAMES), st.sampled_from(NAMES), max_size=2)
METADATA = st.fixed_dictionaries({"annotations": ENTRIES, "labels": ENTRIES})


def workload(kind: Kind, owner: Document, between: Document, template: Document, spec_queue: str | None) -> Document:
    """A workload of this kind; `between` is the metadata of a CronJob's job template."""
    made = {**pod(), "metadata": template}
    if kind == VOLCANO_JOB:
        tasks = [{"name": "main", "replicas": 1, "template": made}]
        return {"metadata": owner, "spec": {"schedulerName": "volcano", "queue": spec_queue, "tasks": tasks}}
    if kind[1] == "CronJob":
        return {"metadata": owner, "spec": {"jobTemplate": {"metadata": between, "spec": {"template": made}}}}
    return {"metadata": owner, "spec": {"template": made}}


def queue_of_pods(kind: Kind, owner: Document, between: Document, template: Document, spec_queue: str | None) -> str:
    """The queue that the scheduler reads, after the controllers of the kind have made pods and group."""
    if kind == VOLCANO_JOB:
        made: dict[str, Any] = {"metadata": owner, "spec": {"queue": spec_queue}}
        return queue_name_of(as_type(made, kube.PodGroup))
    inherits = {"Deployment", "CronJob"} | {resource.kind for resource in POD_OWNERS}
    inherited = (between if kind[1] == "CronJob" else owner)["annotations"] if kind[1] in inherits else {}
    member = as_type({**pod(), "metadata": {"name": "a", "namespace": "team", **template}}, kube.Pod)
    group = group_for(member, inherited)
    group.spec.queue = group.spec.queue or DEFAULT_QUEUE
    return queue_name_of(group)


@given(
    kind=st.sampled_from([*WORKLOADS, VOLCANO_JOB]),
    owner=METADATA,
    between=METADATA,
    template=METADATA,
    spec_queue=st.sampled_from([None, "", *NAMES]),
)
def test_reviewed_queue_is_the_queue_of_the_pods(
    kind: Kind, owner: Document, between: Document, template: Document, spec_queue: str | None
) -> None:
    document = workload(kind, owner, between, template, spec_queue)
    verdict = review(request(kind[1], document, user=ALICE, group=kind[0]), ALL, CLOSE)
    used = queue_of_pods(kind, owner, between, template, spec_queue)
    assert verdict.uses[0].queue == used
    named = {name for each in (owner, between, template) for entries in each.values() for name in entries.values()}
    assert {use.queue for use in verdict.uses} <= named | {used}


@given(
    kind=st.sampled_from([*WORKLOADS]),
    owner=METADATA,
    between=METADATA,
    template=METADATA,
    scheduler=st.sampled_from(["volcano", "other"]),
    group=st.sampled_from(["", "gang"]),
)
def test_queue_of_adopted_pods_is_reviewed(
    kind: Kind, owner: Document, between: Document, template: Document, scheduler: str, group: str
) -> None:
    """A controller adopts any pod that its selector matches: the owner's queue counts for it, whatever the template."""
    document = workload(kind, owner, between, template, None)
    spec = document["spec"]["jobTemplate"]["spec"] if kind[1] == "CronJob" else document["spec"]
    made = pod(scheduler=scheduler, group=group)
    metadata = {**template, "annotations": {**template["annotations"], **made["metadata"]["annotations"]}}
    spec["template"] = {**made, "metadata": metadata}
    verdict = review(request(kind[1], document, user=ALICE, group=kind[0]), ALL, CLOSE)
    named = (between if kind[1] == "CronJob" else owner)["annotations"]
    if named and kind[1] != "ReplicationController":
        plain: Document = {"annotations": {}, "labels": {}}
        assert queue_of_pods(kind, owner, between, plain, None) in {use.queue for use in verdict.uses}


@given(own=METADATA)
def test_reviewed_queue_of_plain_pod_is_that_of_its_group(own: Document) -> None:
    verdict = review(request("Pod", {**pod(), "metadata": own}, user=ALICE), ALL, CLOSE)
    kind: Kind = ("", "ReplicationController")
    assert {use.queue for use in verdict.uses} == {queue_of_pods(kind, own, own, own, None)}
