"""Admission rules: which objects are rejected, with which message, and which are admitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from stromboli import kube
from stromboli.admission.facts import AUTHORISATION, FROZEN_FIELDS, PRIORITIES, AdmissionPolicy
from stromboli.admission.pods import DEVICES
from stromboli.admission.requests import Request, User
from stromboli.admission.review import review
from stromboli.cluster.objects.priority_classes import ALLOWED_CLASSES
from stromboli.core.model.devices.gpu_fractions import FRACTION
from stromboli.core.model.devices.shared_devices import GPU_INDEX
from stromboli.core.model.nodes.numa import PROCESSORS
from stromboli.core.model.usage.budgets import BUDGETS
from stromboli.core.model.usage.queue_annotations import HALF_LIFE, USER_LIMITS, USER_WEIGHTS
from stromboli.kube.objects.kinds import as_type
from tests.unit.admission.requests import ADMINISTRATOR, ALICE, CONTROLLER, FACTS, POLICY, WIDE, Document, pod, request
from tests.unit.admission.requests import queue as world_queue

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"
TASK_PRIORITY = "volcano.sh/task-priority"
#: An owner of a kind that the webhook does not review.
WIDGET = ("example.com/v1", "Widget")


def message_of(review_request: Request, policy: AdmissionPolicy = POLICY) -> str:
    """The message of a rejection; empty if the object is admitted."""
    verdict = review(review_request, FACTS, policy)
    return "" if verdict.is_allowed else verdict.message


def used(review_request: Request, policy: AdmissionPolicy = POLICY) -> set[str]:
    """The queues that the user must be allowed to use."""
    return {use.queue for use in review(review_request, FACTS, policy).uses}


class Case(NamedTuple):
    name: str
    kind: str
    document: Document
    #: The message after the name of the object; empty if it is admitted.
    refusal: str = ""

    def __str__(self) -> str:
        return self.name


def group(**spec: Any) -> Document:
    return {"spec": {"minMember": 1, "queue": "default", **spec}}


def sub_groups(**policy: Any) -> Document:
    return group(minMember=4, subGroupPolicy=[{"name": "a", "matchLabelKeys": ["part"], **policy}])


def queue(annotations: dict[str, str] | None = None, **spec: Any) -> Document:
    return {"metadata": {"name": spec.pop("name", "sample"), "annotations": annotations or {}}, "spec": spec}


def tree(path: str, weights: str) -> Document:
    return queue({"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights})


def hyper_node(*members: Document, tier: int | None = 1, name: str = "sample") -> Document:
    return {"metadata": {"name": name}, "spec": {"tier": tier, "members": list(members)}}


def nodes(**selector: Any) -> Document:
    return {"type": "Node", "selector": selector}


def topology(*labels: str) -> Document:
    return {"spec": {"levels": [{"nodeLabel": label} for label in labels]}}


MINIMUM = "spec.minMember: "
TIERS = "both a tier number and a tier name are set; keep highestTierAllowed or highestTierName, not both"
EITHER = "name another, or leave it empty"
HIERARCHY = "metadata.annotations[volcano.sh/hierarchy"

SENSE = [
    Case("a group", "PodGroup", group()),
    Case("a group without minimum", "PodGroup", group(minMember=0)),
    Case("negative minimum", "PodGroup", group(minMember=-1),
         f"{MINIMUM}must not be negative, got -1; write 0 or more"),
    Case("minimum above 32 bits", "PodGroup", group(minMember=2**31),
         f"{MINIMUM}expected an integer of at most 2147483647; write a smaller number"),
    Case("negative minimum of a role", "PodGroup", group(minTaskMember={"ps": -1}),
         "spec.minTaskMember.ps: must not be negative, got -1; write 0 or more"),
    Case("invalid amounts", "PodGroup", group(minResources={"cpu": "many"}), "spec.minResources.cpu: "),
    Case("consistent sub-groups", "PodGroup", sub_groups(subGroupSize=2, minSubGroups=2)),
    Case("sub-groups that need more than the group", "PodGroup", sub_groups(subGroupSize=3, minSubGroups=2),
         f"{MINIMUM}is 4, but the sub-groups need 6 members; write 6, or lower the minimums of sub-groups"),
    Case("sub-groups without label keys", "PodGroup", sub_groups(minSubGroups=1, matchLabelKeys=[]),
         "spec.subGroupPolicy[0].minSubGroups: no sub-group can exist; name the labels"),
    Case("sub-group size of zero", "PodGroup", sub_groups(subGroupSize=0), "spec.subGroupPolicy[0].subGroupSize: must"),
    Case("two tiers", "PodGroup", group(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
         f"spec.networkTopology: {TIERS}"),
    Case("two tiers of a part", "PodGroup",
         sub_groups(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
         f"spec.subGroupPolicy[0].networkTopology: {TIERS}"),
    Case("unknown mode", "PodGroup", group(networkTopology={"mode": "firm"}),
         "spec.networkTopology.mode: 'firm' is not known; write hard or soft"),
    Case("negative tier", "PodGroup", group(networkTopology={"highestTierAllowed": -1}),
         "spec.networkTopology.highestTierAllowed: must not be negative, got -1; write 0 or more"),
    Case("unknown queue", "PodGroup", group(queue="nowhere"),
         "spec.queue: queue 'nowhere' does not exist; create it, or name another"),
    Case("a closed queue", "PodGroup", group(queue="shut"),
         "spec.queue: queue 'shut' is Closed; name a queue that is Open, or have it opened"),
    Case("a closing queue", "PodGroup", group(queue="shutting"),
         "spec.queue: queue 'shutting' is Closing; name a queue"),
    Case("several violations", "PodGroup", group(minMember=-1, queue="nowhere"),
         f"{MINIMUM}must not be negative, got -1; write 0 or more; and spec.queue: queue 'nowhere' does not exist"),
    Case("a queue", "Queue", queue(weight=2, parent="science")),
    Case("a queue below the root", "Queue", queue(parent="root")),
    Case("the root", "Queue", queue(name="root", parent="root")),
    Case("parent of the root", "Queue", queue(name="root", parent="science"),
         "spec.parent: the root queue has no parent; leave it empty"),
    Case("weight of zero", "Queue", queue(weight=0), "spec.weight: must be at least 1, got 0"),
    Case("unknown parent", "Queue", queue(parent="unknown"), f"spec.parent: queue 'unknown' does not exist; {EITHER}"),
    Case("its own parent", "Queue", queue(parent="sample"),
         f"spec.parent: a queue cannot be its own ancestor; {EITHER}"),
    Case("a cycle", "Queue", queue(name="science", parent="physics", capability={"cpu": "10"}),
         f"spec.parent: the queue is its own ancestor; {EITHER}"),
    Case("deserved above capability", "Queue", queue(deserved={"cpu": "3"}, capability={"cpu": "2"}),
         "spec.deserved.cpu: 3 exceeds spec.capability, 2; lower it, or raise the other"),
    Case("guarantee above deserved", "Queue", queue(guarantee={"resource": {"cpu": "3"}}, deserved={"cpu": "500m"}),
         "spec.guarantee.resource.cpu: 3 exceeds spec.deserved, 500m; lower it, or raise the other"),
    Case("consistent amounts", "Queue", queue(deserved={"cpu": "2"}, capability={"cpu": "2", "memory": "1Gi"})),
    Case("guarantees within the parent", "Queue", queue(parent="science", guarantee={"resource": {"cpu": "4"}})),
    Case("guarantees beyond the parent", "Queue", queue(parent="science", guarantee={"resource": {"cpu": "5"}}),
         "spec.guarantee.resource: the children of 'science' are guaranteed 11 of cpu, more than its"),
    Case("capability of the parent lowered", "Queue", queue(name="science", capability={"cpu": "5"}),
         "spec.guarantee.resource: the children of 'science' are guaranteed 6 of cpu, more than its"),
    Case("hierarchy annotations", "Queue", tree("root/a/b", "1/2/4")),
    Case("a tree without a root", "Queue", tree("a/b", "1/2"),
         f"{HIERARCHY}]: 'a/b' is not a path from the root; write"),
    Case("a level without a name", "Queue", tree("root//b", "1/2/3"), f"{HIERARCHY}]: 'root//b' is not a path"),
    Case("missing weight", "Queue", tree("root/a/b", "1/2"),
         f"{HIERARCHY}-weights]: '1/2' does not have one weight per"),
    Case("invalid weight", "Queue", tree("root/a", "1/nan"), f"{HIERARCHY}-weights]: '1/nan' contains an invalid"),
    Case("classes with blanks", "Queue", queue({ALLOWED_CLASSES: "high low"}),
         f"metadata.annotations[{ALLOWED_CLASSES}]: names of priority classes cannot contain spaces; separate them"),
    Case("a budget", "Queue", queue({BUDGETS: '[{"resource": "cpu", "hours": 5}]'})),
    Case("a budget without hours", "Queue", queue({BUDGETS: '[{"resource": "cpu"}]'}),
         f"metadata.annotations: annotation {BUDGETS}: Object missing required field `hours`"),
    Case("users and a half-life", "Queue",
         queue({HALF_LIFE: "72h", USER_WEIGHTS: "ana=3,ben=1",
                USER_LIMITS: "system:serviceaccount:a:b: cpu=2; *: cpu=1"})),
    Case("an invalid half-life", "Queue", queue({HALF_LIFE: "soon"}),
         f"metadata.annotations[{HALF_LIFE}]: 'soon' is not a duration; write one such as 90s, 30m or 1h30m; write a"),
    Case("a half-life below the top", "Queue", queue({HALF_LIFE: "72h"}, parent="science"),
         f"metadata.annotations[{HALF_LIFE}]: the half-life of a tree of queues is that of its top queue"),
    Case("an invalid weight of a user", "Queue", queue({USER_WEIGHTS: "ana=3, ben"}),
         f"metadata.annotations[{USER_WEIGHTS}]: expected user=weight with a weight of at least 0, got 'ben'; write"),
    Case("an invalid limit of a user", "Queue", queue({USER_LIMITS: "ana: cpu=2; ben: cpu"}),
         f"metadata.annotations[{USER_LIMITS}]: ben: expected resource=amount, got 'cpu'; write limits such as ana"),
    Case("a hypernode", "HyperNode", hyper_node(nodes(regexMatch={"pattern": "^a-[0-9]+$"}))),
    Case("members that do not exist yet", "HyperNode", hyper_node(nodes(exactMatch={"name": "not-there"}))),
    Case("no tier", "HyperNode", hyper_node(tier=None), "spec.tier: must be a number that is not negative; write 0"),
    Case("reserved name", "HyperNode", hyper_node(name="<cluster-top-hypernode>"), "metadata.name: this"),
    Case("invalid pattern", "HyperNode", hyper_node(nodes(regexMatch={"pattern": "a("})),
         "spec.members[0].selector.regexMatch.pattern: "),
    Case("pattern with back-reference", "HyperNode", hyper_node(nodes(regexMatch={"pattern": r"(a)\1"})),
         "spec.members[0].selector.regexMatch.pattern: "),
    Case("two selectors", "HyperNode", hyper_node(nodes(exactMatch={"name": "a"}, labelMatch={})),
         "spec.members[0].selector: exactly one of exactMatch, regexMatch and labelMatch is needed"),
    Case("a hypernode by pattern", "HyperNode",
         hyper_node({"type": "HyperNode", "selector": {"regexMatch": {"pattern": "a"}}}),
         "spec.members[0].selector: a member of type HyperNode is chosen by exactMatch alone"),
    Case("a topology", "Topology", topology("zone", "rack")),
    Case("no level", "Topology", topology(), "spec.levels: has 0 levels; write between 1 and 16"),
    Case("a level twice", "Topology", topology("rack", "rack"),
         "spec.levels[1].nodeLabel: 'rack' is a level already; name each label once"),
    Case("a pod", "Pod", pod()),
    Case("pod of another scheduler", "Pod", pod(scheduler="other", group="else/where")),
    Case("a group of another namespace", "Pod", pod(group="else/where"),
         "metadata.annotations[scheduling.k8s.io/group-name]: 'else/where' is in another namespace; a pod and"),
    Case("invalid request", "Pod", pod(cpu="-1"), "spec.containers[0].resources.requests.cpu"),
    Case("a plain pod in a closed queue", "Pod", pod(annotations={QUEUE_NAME: "shut"}),
         f"metadata.annotations[{QUEUE_NAME}]: queue 'shut' is Closed; name a queue"),
    Case("a plain pod in no queue, by label", "Pod", pod(labels={"volcano.sh/queue-name": "nowhere"}),
         "metadata.labels[volcano.sh/queue-name]: queue 'nowhere' does not exist; create it"),
    Case("task priority", "Pod", pod(annotations={TASK_PRIORITY: "-2147483648"})),
    Case("task priority above 32 bits", "Pod", pod(annotations={TASK_PRIORITY: "2147483648"}),
         f"metadata.annotations[{TASK_PRIORITY}]: '2147483648' is not a number from -2147483648 to 2147483647; write"),
    Case("task priority that is no number", "Pod", pod(annotations={TASK_PRIORITY: "first"}),
         f"metadata.annotations[{TASK_PRIORITY}]: 'first' is not a number from"),
    Case("pod of a group that does not exist yet", "Pod", pod(group="later", annotations={QUEUE_NAME: "shut"})),
    Case("a job", "Job", {"spec": {"template": pod()}}),
    Case("a job in no queue", "Job", {"spec": {"template": pod(annotations={QUEUE_NAME: "nowhere"})}},
         f"spec.template.metadata.annotations[{QUEUE_NAME}]: queue 'nowhere' does not exist; create it"),
    Case("job with a queue annotation", "Job",
         {"metadata": {"annotations": {QUEUE_NAME: "shut"}}, "spec": {"template": pod()}},
         f"metadata.annotations[{QUEUE_NAME}]: queue 'shut' is Closed; name a queue"),
    Case("job with pods of another namespace", "Job", {"spec": {"template": pod(group="else/where")}},
         "spec.template.metadata.annotations[scheduling.k8s.io/group-name]: 'else/where' is in another"),
    Case("a cron job in no queue", "CronJob",
         {"spec": {"jobTemplate": {"spec": {"template": pod(annotations={QUEUE_NAME: "nowhere"})}}}},
         f"spec.jobTemplate.spec.template.metadata.annotations[{QUEUE_NAME}]: queue 'nowhere' does not exist"),
    Case("a deployment without pods", "Deployment", {"spec": {}}),
]  # fmt: skip


@pytest.mark.parametrize("case", SENSE, ids=str)
def test_invalid_object_is_rejected_with_field_and_remedy(case: Case) -> None:
    review_request = request(case.kind, case.document)
    name = review_request.name if case.kind in WIDE else f"team/{review_request.name}"
    message = message_of(review_request)
    if not case.refusal:
        assert message == ""
    else:
        assert message.startswith(f"{case.kind} {name}: {case.refusal}"), message


NEEDED = "is protected; close it to stop accepting work"
DELETIONS = {
    "root": f"queue 'root' {NEEDED}",
    "default": f"queue 'default' {NEEDED}",
    "science": "the queue has children: physics; delete them first, or give them another parent",
    "physics": "",
    "shut": "",
}


@pytest.mark.parametrize("name", DELETIONS)
def test_deletion_of_needed_queue_is_rejected(name: str) -> None:
    message = message_of(request("Queue", queue(name=name), operation="DELETE"))
    assert message == (f"Queue {name}: metadata.name: {DELETIONS[name]}" if DELETIONS[name] else "")


def test_native_group_follows_the_same_rules() -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    annotated = {"metadata": {"annotations": {QUEUE_NAME: "nowhere"}}, "spec": spec}
    native = "scheduling.k8s.io"
    assert message_of(request("PodGroup", {"spec": spec}, group=native)) == ""
    assert "queue 'nowhere' does not exist" in message_of(request("PodGroup", annotated, group=native))
    assert "spec.schedulingPolicy: must be either gang or basic" in message_of(request("PodGroup", {}, group=native))


def test_volcano_job_needs_access_to_its_queue() -> None:
    document = {
        "spec": {"schedulerName": "volcano", "queue": "shut", "tasks": [{"template": pod(scheduler="volcano")}]}
    }
    review_request = request("Job", document, group="batch.volcano.sh")
    assert message_of(review_request).startswith("Job team/sample: spec.queue: queue 'shut' is Closed")


WARNINGS = [
    (group(priorityClassName="lost"), ("spec.priorityClassName: priority class 'lost' does not exist yet; the default "
     "priority applies",)),
    (group(minMember=1, minTaskMember={"a": 1, "b": 1}), ("spec.minTaskMember: the minimums of roles add up to 2; they "
     "apply only if spec.minMember is at least as large",)),
    (group(priorityClassName="system-node-critical"), ()),
]  # fmt: skip


@pytest.mark.parametrize(("document", "warnings"), WARNINGS)
def test_suspicious_object_gets_warning(document: Document, warnings: tuple[str, ...]) -> None:
    verdict = review(request("PodGroup", document), FACTS, POLICY)
    assert verdict.is_allowed
    assert verdict.warnings == warnings


# -- tenants ----------------------------------------------------------------------------------------------------------


class Use(NamedTuple):
    name: str
    kind: str
    document: Document
    #: The queues that the tenant must be allowed to use.
    uses: set[str]
    user: User = ALICE
    namespace: str = "team"

    def __str__(self) -> str:
        return self.name


TEMPLATE = {"spec": {"template": pod(annotations={QUEUE_NAME: "science"})}}

USES = [
    Use("a group", "PodGroup", group(queue="science"), {"science"}),
    Use("a group by annotation", "PodGroup",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"queue": "default"}}, {"science"}),
    Use("public queue", "PodGroup", group(), set()),
    Use("trusted user", "PodGroup", group(queue="science"), set(), ADMINISTRATOR),
    Use("a controller", "Pod", pod(owner=("batch/v1", "Job"), annotations={QUEUE_NAME: "science"}), set(), CONTROLLER),
    Use("a controller for an owner of an unknown kind", "Pod",
        pod(owner=("example.com/v1", "Widget"), annotations={QUEUE_NAME: "science"}), {"science"}, CONTROLLER),
    Use("a controller for a Job of another API group", "Pod",
        pod(owner=("example.com/v1", "Job"), annotations={QUEUE_NAME: "science"}), {"science"}, CONTROLLER),
    Use("a controller for no owner", "Pod", pod(annotations={QUEUE_NAME: "science"}), {"science"}, CONTROLLER),
    Use("a controller for a replication controller", "Pod",
        pod(owner=("v1", "ReplicationController"), annotations={QUEUE_NAME: "science"}), set(), CONTROLLER),
    Use("owner and template that contradict", "Job",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}},
         "spec": {"template": pod(labels={QUEUE_NAME: "default"})}}, {"science"}),
    Use("owner and template that contradict by keys", "Deployment",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}},
         "spec": {"template": pod(annotations={"volcano.sh/queue-name": "default"})}}, {"science"}),
    Use("owner of other pods that could adopt some of ours", "Deployment",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod(scheduler="other")}},
        {"science"}),
    Use("owner of members of a group that could adopt others", "Deployment",
        {"metadata": {"annotations": {QUEUE_NAME: "physics"}}, "spec": {"template": pod(group="gang")}},
        {"science", "physics"}),
    Use("replication controller, whose annotations are not inherited", "ReplicationController",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod(scheduler="other")}}, set()),
    Use("a plain pod", "Pod", pod(annotations={QUEUE_NAME: "science"}), {"science"}),
    Use("a plain pod of a namespace with a queue", "Pod", pod(), {"science"}, namespace="lab"),
    Use("plain pod without queue", "Pod", pod(), set()),
    Use("a member", "Pod", pod(group="gang"), {"science"}),
    Use("pod of an owner without queue", "Pod", pod(owner=("example.com/v1", "Workload")), set()),
    Use("pod of another scheduler", "Pod", pod(scheduler="other", annotations={QUEUE_NAME: "science"}), set()),
    Use("pod with a group and no scheduler", "Pod", pod(scheduler="default-scheduler", group="gang"), {"science"}),
    Use("a job", "Job", TEMPLATE, {"science"}),
    Use("a job of a namespace with a queue", "Job", {"spec": {"template": pod()}}, {"science"}, namespace="lab"),
    Use("job of another scheduler", "Job",
        {"spec": {"template": pod(scheduler="other", annotations={QUEUE_NAME: "science"})}}, set()),
    Use("a job of a group", "Job", {"spec": {"template": pod(group="gang")}}, {"science"}),
    Use("deployment with queue annotation", "Deployment",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod()}}, {"science"}),
    Use("a cron job", "CronJob", {"spec": {"jobTemplate": TEMPLATE}}, {"science"}),
]  # fmt: skip


@pytest.mark.parametrize("case", USES, ids=str)
def test_tenant_needs_access_to_queue(case: Use) -> None:
    review_request = request(case.kind, case.document, user=case.user, namespace=case.namespace)
    verdict = review(review_request, FACTS, POLICY)
    assert verdict.is_allowed, verdict.message
    assert used(review_request) == case.uses
    assert not used(review_request, AdmissionPolicy(without=frozenset((AUTHORISATION,))))


def test_pod_with_owner_by_user_is_forbidden() -> None:
    document = pod(owner=("batch/v1", "Job"))
    message = "metadata.ownerReferences: pods of Job 'owner' are created by its controller; remove the owner reference"
    assert message in message_of(request("Pod", document, user=ALICE))
    assert message in message_of(request("Pod", document, before=pod(), user=ALICE))
    assert message_of(request("Pod", document, user=CONTROLLER)) == ""


class Priority(NamedTuple):
    kind: str
    document: Document
    refusal: str
    user: User = ALICE


LISTED = "is not allowed in queue 'science'; use one of low, lower"
PRIORITY = {
    "one of the queue's": Priority("PodGroup", group(queue="science", priorityClassName="low"), ""),
    "not listed": Priority("PodGroup", group(queue="science", priorityClassName="high"),
                        f"spec.priorityClassName: priority class 'high' {LISTED}"),
    "the default one": Priority("Pod", pod(group="gang", priorityClassName="usual"), ""),
    "none": Priority("PodGroup", group(queue="science"), ""),
    "in a queue that lists none": Priority("PodGroup", group(priorityClassName="high"), ""),
    "of a member": Priority("Pod", pod(group="gang", priorityClassName="high"),
                            f"spec.priorityClassName: priority class 'high' {LISTED}"),
    "of a pod template": Priority(
        "Job", {"spec": {"template": pod(annotations={QUEUE_NAME: "science"}, priorityClassName="high")}},
        f"spec.template.spec.priorityClassName: priority class 'high' {LISTED}"),
    "of a pod template whose group does not exist yet": Priority(
        "Job", {"spec": {"template": pod(group="later", priorityClassName="high")}},
        "spec.template.spec.priorityClassName: priority class 'high' is not allowed in every queue, and PodGroup "
        "team/later does not exist yet; create the group before its pods"),
    "of an administrator": Priority("PodGroup", group(queue="science", priorityClassName="high"), "", ADMINISTRATOR),
}  # fmt: skip


@pytest.mark.parametrize("name", PRIORITY)
def test_priority_class_not_listed_by_queue_is_forbidden(name: str) -> None:
    case = PRIORITY[name]
    review_request = request(case.kind, case.document, user=case.user)
    assert message_of(review_request).partition("sample: ")[2] == case.refusal
    assert message_of(review_request, AdmissionPolicy(without=frozenset((PRIORITIES,)))) == ""


# -- immutable fields -------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    kind: str
    before: Document
    after: Document
    #: The field that cannot be changed; empty if it can.
    frozen: str = ""


def marked(document: Document, part: str = "annotations", **entries: str) -> Document:
    return {**document, "metadata": {**document.get("metadata", {}), part: entries}}


CHANGES = {
    "the queue": Change("PodGroup", group(), group(queue="physics"), "spec.queue"),
    "the queue by annotation": Change("PodGroup", group(), marked(group(), **{QUEUE_NAME: "physics"}), "spec.queue"),
    "the minimum": Change("PodGroup", group(), group(minMember=2), "spec.minMember"),
    "roles": Change("PodGroup", group(), group(minTaskMember={"a": 1}), "spec.minTaskMember"),
    "the network": Change("PodGroup", group(), group(networkTopology={"mode": "soft"}), "spec.networkTopology"),
    "sub-groups": Change("PodGroup", group(), group(subGroupPolicy=[{"name": "a"}]), "spec.subGroupPolicy"),
    "preemptability": Change("PodGroup", group(), marked(group(), "labels", **{PREEMPTABLE: "false"}),
                                    f"metadata.annotations[{PREEMPTABLE}]"),
    "the status": Change("PodGroup", group(), {**group(), "status": {"phase": "Running"}}),
    "other annotations": Change("PodGroup", group(), marked(group(), note="x")),
    "the group of a pod": Change("Pod", pod(group="gang"), pod(group="other"),
                                 "metadata.annotations[scheduling.k8s.io/group-name]"),
    "a group for a pod without one": Change("Pod", pod(), pod(group="gang")),
    "the queue of a pod": Change("Pod", pod(), pod(labels={QUEUE_NAME: "physics"}), f"metadata.labels[{QUEUE_NAME}]"),
    "preemptability of a pod": Change("Pod", pod(), pod(annotations={PREEMPTABLE: "false"}),
                                       f"metadata.annotations[{PREEMPTABLE}]"),
    "the fraction of a GPU": Change("Pod", pod(annotations={FRACTION: "0.5"}), pod(annotations={FRACTION: "0.01"}),
                                    f"metadata.annotations[{FRACTION}]"),
    "the GPU of a pod": Change("Pod", pod(annotations={GPU_INDEX: "0"}), pod(), f"metadata.annotations[{GPU_INDEX}]"),
    "the CPUs of a pod": Change("Pod", pod(annotations={PROCESSORS: "{}"}), pod(annotations={PROCESSORS: "x"}),
                                f"metadata.annotations[{PROCESSORS}]"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_change_of_scheduling_field_is_forbidden(name: str) -> None:
    case = CHANGES[name]
    review_request = request(case.kind, case.after, before=case.before, user=ALICE)
    verdict = review(review_request, FACTS, POLICY)
    frozen = [violation.message for violation in verdict.violations if "is immutable" in violation.message]
    assert [message.partition(": ")[0] for message in frozen] == ([case.frozen] if case.frozen else [])
    assert verdict.is_forbidden is bool(case.frozen)
    assert message_of(review_request, AdmissionPolicy(without=frozenset((FROZEN_FIELDS,)))) == ""
    assert message_of(request(case.kind, case.after, before=case.before, user=CONTROLLER)) == ""


def test_pod_added_to_group_needs_access_to_its_queue() -> None:
    review_request = request("Pod", pod(group="gang"), before=pod(), user=ALICE)
    assert used(review_request) == {"science"}


MOVES: dict[str, tuple[Document, Document, str, set[str]]] = {
    "to an owner whose group is in a queue": (pod(), pod(owner=WIDGET), "team", {"science"}),
    "to the queue of the namespace": (pod(owner=WIDGET), pod(), "lab", {"science"}),
    "out of the queue": (pod(owner=WIDGET), pod(), "team", set()),
    "none: the pod names its group": (pod(group="mine"), pod(group="mine", owner=WIDGET), "team", set()),
}


@pytest.mark.parametrize("case", MOVES)
def test_pod_with_another_owner_needs_access_to_its_new_queue(case: str) -> None:
    before, after, namespace, queues = MOVES[case]
    group_of_owner = as_type({"metadata": {"name": "podgroup-u"}, "spec": {"queue": "science"}}, kube.PodGroup)
    facts = FACTS.with_groups({"team/podgroup-u": group_of_owner})
    for user, needed in ((ALICE, queues), (CONTROLLER, set())):
        verdict = review(request("Pod", after, before=before, user=user, namespace=namespace), facts, POLICY)
        assert verdict.is_allowed, verdict.message
        assert {use.queue for use in verdict.uses} == needed


def test_adopted_pod_needs_class_that_every_queue_allows() -> None:
    """Its new owner may name a queue that does not allow the class of the pod, which a user created."""
    owner, high = ("apps/v1", "ReplicaSet"), {"priorityClassName": "high"}
    message = "Pod team/sample: spec.priorityClassName: priority class 'high' is not allowed in "
    adopted = request("Pod", pod(owner=owner, **high), before=pod(**high), user=CONTROLLER)
    assert message_of(adopted).startswith(f"{message}every queue, and PodGroup team/podgroup-u does not exist yet")
    group_of_owner = as_type({"metadata": {"name": "podgroup-u"}, "spec": {"queue": "science"}}, kube.PodGroup)
    in_science = FACTS.with_groups({"team/podgroup-u": group_of_owner})
    assert review(adopted, in_science, POLICY).message.startswith(f"{message}queue 'science'")
    low, member = {"priorityClassName": "low"}, {"group": "gang", **high}
    for kept in (low, {}, member):
        assert message_of(request("Pod", pod(owner=owner, **kept), before=pod(**kept), user=CONTROLLER)) == ""
    assert message_of(request("Pod", pod(**high), before=pod(owner=owner, **high), user=CONTROLLER)) == "", "released"


def test_workload_that_keeps_its_class_is_not_checked_again() -> None:
    early = {"spec": {"template": pod(group="later", priorityClassName="high")}}
    assert message_of(request("Job", marked(early, note="x"), before=early, user=ALICE)) == ""
    adopting = {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod(scheduler="other")}}
    scaled = {**adopting, "spec": {**adopting["spec"], "replicas": 3}}
    assert not used(request("Deployment", scaled, before=adopting, user=ALICE))
    moved = {**adopting, "metadata": {"annotations": {QUEUE_NAME: "physics"}}}
    assert used(request("Deployment", moved, before=adopting, user=ALICE)) == {"physics"}


def test_job_that_keeps_queue_needs_no_access_review() -> None:
    scaled = {"spec": {**TEMPLATE["spec"], "parallelism": 4}}
    assert not used(request("Job", scaled, before=TEMPLATE, user=ALICE))
    moved = {"spec": {"template": pod(annotations={QUEUE_NAME: "physics"})}}
    assert used(request("Job", moved, before=TEMPLATE, user=ALICE)) == {"physics"}


OLD_VIOLATIONS = [
    ("PodGroup", group(minMember=-1), marked(group(minMember=-1), note="x")),
    ("Queue", queue(parent="unknown"), queue({"note": "x"}, parent="unknown")),
    ("HyperNode", hyper_node(tier=-1), marked(hyper_node(tier=-1), note="x")),
    ("Pod", pod(group="else/where"), pod(group="else/where", annotations={"note": "x"})),
    ("Job", {"spec": {"template": pod(cpu="-1")}}, {"spec": {"template": pod(cpu="-1"), "parallelism": 2}}),
]


@pytest.mark.parametrize(("kind", "before", "after"), OLD_VIOLATIONS, ids=[each[0] for each in OLD_VIOLATIONS])
def test_existing_violation_does_not_block_other_change(kind: str, before: Document, after: Document) -> None:
    assert message_of(request(kind, after)) != ""
    assert message_of(request(kind, after, before=before)) == ""


def leaving(document: Document, **metadata: Any) -> Document:
    """The object while it is being deleted."""
    facts = {**document.get("metadata", {}), "deletionTimestamp": "2030-01-01T00:00:00Z", **metadata}
    return {**document, "metadata": facts}


CHANGES_OF_DELETED = {
    "finalizers": (leaving(group(), finalizers=["example.com/x"]), leaving(group(), finalizers=[]), ""),
    "labels of others": (leaving(group()), leaving(group(), labels={"example.com/done": "yes"}), ""),
    "an old violation": (leaving(group(minMember=-1)), leaving(group(minMember=-1), finalizers=[]), ""),
    "the queue": (leaving(group()), leaving(group(queue="science")), "spec: cannot change while the object is being"),
    "the queue by annotation": (leaving(group()), leaving(group(), annotations={QUEUE_NAME: "science"}),
                                "metadata.annotations: cannot change while the object is being deleted"),
    "the owner": (leaving(group()), leaving(group(), ownerReferences=[{"uid": "u"}]), "metadata.ownerReferences: "),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES_OF_DELETED)
def test_object_being_deleted_keeps_what_scheduling_depends_on(case: str) -> None:
    before, after, refusal = CHANGES_OF_DELETED[case]
    message = message_of(request("PodGroup", after, before=before, user=ALICE))
    assert message.startswith(f"PodGroup team/sample: {refusal}") if refusal else message == ""
    assert message_of(request("PodGroup", after, before=before)) == "", "administrators may"


@pytest.mark.parametrize("key", DEVICES)
def test_terminating_pod_keeps_its_devices(key: str) -> None:
    """Its containers use them until it is gone."""
    before, after = (leaving(pod(annotations={key: value})) for value in ("0.5", "0.01"))
    refusal = "Pod team/sample: metadata.annotations: cannot change while the object is being deleted"
    assert message_of(request("Pod", after, before=before, user=ALICE)).startswith(refusal)
    assert message_of(request("Pod", after, before=before)) == "", "administrators may"


def test_class_of_pod_before_its_group_must_be_allowed_in_every_queue() -> None:
    """The group may be created in any queue afterwards."""
    early = request("Pod", pod(group="later", priorityClassName="high"), user=ALICE)
    message = "priority class 'high' is not allowed in every queue, and PodGroup team/later does not exist yet"
    assert message_of(early) == f"Pod team/sample: spec.priorityClassName: {message}; create the group before its pods"
    assert review(early, FACTS, POLICY).dependent_groups == {"team/later"}
    for name in ("low", "usual", ""):
        assert message_of(request("Pod", pod(group="later", priorityClassName=name), user=ALICE)) == ""
    elsewhere = as_type({"metadata": {"name": "later", "namespace": "team"}}, kube.PodGroup)
    read_again = FACTS.with_groups({"team/later": elsewhere})
    assert review(early, read_again, POLICY).is_allowed, "its group is in a queue that allows the class"
    assert review(early, FACTS.with_groups({"team/later": None}), POLICY).is_allowed is False


def test_unknown_kind_and_subresource_are_admitted() -> None:
    assert message_of(request("PodGroup", group(minMember=-1), group="example.com")) == ""
    part = request("PodGroup", group(minMember=-1))
    part.sub_resource = "status"
    assert message_of(part) == ""


def test_reread_queue_replaces_watched_one() -> None:
    review_request = request("PodGroup", group(queue="shut"))
    assert review(review_request, FACTS, POLICY).dependent_queues == {"shut"}
    opened = FACTS.queues["default"]
    assert review(review_request, FACTS.with_queues({"shut": opened}), POLICY).is_allowed
    assert "does not exist" in review(review_request, FACTS.with_queues({"shut": None}), POLICY).message
    assert FACTS.queues["shut"].status.state == "Closed"


FIELDS: dict[str, tuple[str, Document, str]] = {
    "a group": ("PodGroup", group(queue="science"), "spec.queue"),
    "a member": ("Pod", pod(group="gang"), "metadata.annotations[scheduling.k8s.io/group-name]"),
    "a plain pod": ("Pod", pod(labels={QUEUE_NAME: "science"}), f"metadata.labels[{QUEUE_NAME}]"),
    "a plain pod in its namespace": ("Pod", pod(), "metadata.namespace"),
    "a job": ("Job", TEMPLATE, f"spec.template.metadata.annotations[{QUEUE_NAME}]"),
    "a cron job with an annotated job template": (
        "CronJob",
        {"spec": {"jobTemplate": {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod()}}}},
        f"spec.jobTemplate.metadata.annotations[{QUEUE_NAME}]",
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_queue_use_names_field(name: str) -> None:
    kind, document, field = FIELDS[name]
    namespace = "lab" if field == "metadata.namespace" else "team"
    (use,) = review(request(kind, document, user=ALICE, namespace=namespace), FACTS, POLICY).uses
    assert (use.queue, use.field) == ("science", field)


def test_queue_tree_depth_is_limited() -> None:
    names = [f"level-{number}" for number in range(70)]
    chain = {name: world_queue(name, parent=parent) for name, parent in zip(names[1:], names, strict=False)}
    facts = FACTS.with_queues({names[0]: world_queue(names[0], parent="root"), **chain})
    assert review(request("Queue", queue(parent="level-40")), facts, POLICY).is_allowed
    message = review(request("Queue", queue(parent="level-69")), facts, POLICY).message
    assert message == (
        "Queue sample: spec.parent: the queue would be more than 64 levels deep; name a queue closer to the root"
    )


def test_default_queue_name_is_configurable() -> None:
    policy = replace(POLICY, default_queue="science")
    review_request = request("PodGroup", {"spec": {}}, user=ALICE)
    assert used(review_request, policy) == {"science"}
