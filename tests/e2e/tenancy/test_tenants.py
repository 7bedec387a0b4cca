"""A tenant with the role `edit` in one namespace stays within its queues and priorities, whatever it creates.

Kubernetes' own controllers create the pods, each with its own account, as in a cluster.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest

from testbed.assets import NoAssets
from testbed.plane import ControlPlane
from tests.e2e.tenancy.tenants import (
    CLASSES,
    COMMANDS,
    DENIED,
    GROUP_NAME,
    NAMESPACE,
    OTHER_QUEUE_NAME,
    QUEUE_NAME,
    VOLCANO,
    WIDGETS,
    Tenants,
    group,
    named,
    pod,
    pod_template,
    running_tenants,
    workload,
)

pytestmark = pytest.mark.only("real", because="the embedded server asks no webhooks")


@pytest.fixture(scope="module")
def tenants(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    try:
        with running_tenants(plane, tmp_path_factory.mktemp("tenants")) as made:
            yield made
    except NoAssets as missing:
        pytest.skip(str(missing))


CONTRADICTIONS = {
    "template label": {"labels": {QUEUE_NAME: "default"}},
    "other annotation": {"annotations": {OTHER_QUEUE_NAME: "default"}},
    "nothing": {},
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
@pytest.mark.parametrize("kind", ["Job", "Deployment"])
def test_queue_of_owner_is_reviewed_beside_that_of_template(tenants: Tenants, kind: str, case: str) -> None:
    document = workload(kind, pod_template(**CONTRADICTIONS[case]), annotations={QUEUE_NAME: "science"})
    message = f"{DENIED}{kind} {NAMESPACE}/sample: metadata.annotations[{QUEUE_NAME}]: queue 'science': 'bob' may not"
    assert message in tenants.refusal(document)
    assert "science" not in tenants.queues_in_use()


def test_workload_of_other_pods_cannot_adopt_ours_into_a_foreign_queue(tenants: Tenants) -> None:
    """The pods of the template belong to another scheduler; the selector matches a plain pod of this one."""
    adopting = workload("Deployment", pod_template(schedulerName="other"), annotations={QUEUE_NAME: "science"})
    message = f"{DENIED}Deployment {NAMESPACE}/sample: metadata.annotations[{QUEUE_NAME}]: queue 'science': 'bob' may"
    assert message in tenants.refusal(adopting)
    plain = workload("Deployment", pod_template(schedulerName="other"), name="others")
    assert tenants.refusal(plain) == ""
    denied = f"metadata.annotations[{QUEUE_NAME}]: queue 'science': 'bob' may not use it"
    assert denied in tenants.patch("deployment", "others", {"metadata": {"annotations": {QUEUE_NAME: "science"}}})
    tenants.delete("deployment", "others")


def test_deployment_of_tenant_gets_group_in_public_queue(tenants: Tenants) -> None:
    """Kubernetes' controllers create its pods with their own accounts, which may use the queue for its owner."""
    document = workload("Deployment", pod_template(), name="good", annotations={QUEUE_NAME: "default"})
    assert tenants.refusal(document) == ""
    tenants.webhook.wait(lambda: "default" in tenants.queues_in_use(), "the group of its pods")
    denied = f"metadata.annotations[{QUEUE_NAME}]: queue 'science': 'bob' may not use it"
    assert denied in tenants.patch("deployment", "good", {"metadata": {"annotations": {QUEUE_NAME: "science"}}})
    tenants.delete("deployment", "good")


def test_replication_controller_is_reviewed_as_other_workloads(tenants: Tenants) -> None:
    template = pod_template(annotations={QUEUE_NAME: "science"})
    denied = f"spec.template.metadata.annotations[{QUEUE_NAME}]: queue 'science': 'bob' may not use it"
    assert denied in tenants.refusal(workload("ReplicationController", template))
    classy = workload("ReplicationController", pod_template(priorityClassName="tenants-high"))
    assert "priority class 'tenants-high' is not allowed in queue 'default'" in tenants.refusal(classy)
    assert tenants.refusal(workload("ReplicationController", pod_template(), name="copies")) == ""
    tenants.webhook.wait(lambda: tenants.has_pods("copies-"), "its controller creates pods")
    tenants.delete("replicationcontroller", "copies")


def test_controller_account_needs_rights_for_pods_of_unknown_owners(tenants: Tenants) -> None:
    """The webhook has not reviewed the owner, so the trust in controllers does not extend to its pods."""
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u-1", "controller": True}
    member = pod("made", annotations={QUEUE_NAME: "science"})
    member["metadata"]["ownerReferences"] = [owner]
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
    refused = tenants.webhook.kubectl(
        "create", "--dry-run=server", "-f", "-", stdin=json.dumps(member), user=WIDGETS, groups=groups
    ).stderr
    assert f"queue 'science': '{WIDGETS}' may not use it" in refused
    member["metadata"]["annotations"] = {}
    allowed = tenants.webhook.kubectl(
        "create", "--dry-run=server", "-f", "-", stdin=json.dumps(member), user=WIDGETS, groups=groups
    )
    assert allowed.returncode == 0, allowed.stderr


def test_ordinary_client_gets_no_answer_from_the_webhook(tenants: Tenants) -> None:
    """It would learn which user may use which queue."""
    context = ssl.create_default_context(cafile=str(tenants.webhook.folder / "ca.crt"))
    question = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1"}}
    request = urllib.request.Request(
        f"https://127.0.0.1:{tenants.webhook.port}/validate", json.dumps(question).encode(), method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, context=context)  # noqa: S310 - our own address
    assert (refused.value.code, refused.value.read()) == (403, b"forbidden\n")


def test_pod_cannot_move_to_the_group_of_another_owner(tenants: Tenants) -> None:
    """The group of this owner exists in a foreign queue; no controller has given the pod a group of its own yet."""
    assert tenants.refusal(group("podgroup-u-7", queue="science"), user="") == ""
    assert tenants.refusal(pod("mover", schedulerName="stromboli")) == ""
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u-7", "controller": True}
    message = f"{DENIED}Pod {NAMESPACE}/mover: metadata.ownerReferences: queue 'science': 'bob' may not use it"
    assert message in tenants.patch("pod", "mover", {"metadata": {"ownerReferences": [owner]}})
    tenants.delete("pod", "mover")
    tenants.delete("podgroup", "podgroup-u-7")


def test_group_being_deleted_stays_in_its_queue(tenants: Tenants) -> None:
    held = group("held", queue="default")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    assert tenants.refusal(held) == ""
    tenants.delete("podgroup", "held", user="bob")
    message = f"{DENIED}PodGroup {NAMESPACE}/held: spec: cannot change while the object is being deleted"
    assert message in tenants.patch("podgroup", "held", {"spec": {"queue": "science"}})
    assert tenants.patch("podgroup", "held", {"metadata": {"finalizers": []}}) == "", "the deletion is not blocked"


def test_command_cannot_be_turned_to_a_queue(tenants: Tenants) -> None:
    """A finalizer holds the Command until then; the controllers would execute one that is not being deleted."""
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "missing", "uid": "u-1"}
    science = {"apiVersion": VOLCANO, "kind": "Queue", "name": "science", "uid": "u-2"}
    command = named("Command", COMMANDS, "turned", metadata={"finalizers": ["example.com/hold"]}, target=job)
    denied = "target.name: queue 'science': 'bob' may not update it"
    assert denied in tenants.refusal({**command, "target": science, "action": "CloseQueue"})
    assert tenants.refusal({**command, "action": "AbortJob"}) == ""
    refused = tenants.patch("commands.bus.volcano.sh", "turned", {"target": science, "action": "CloseQueue"})
    assert denied in refused or "target: cannot change while the object is being deleted" in refused
    assert tenants.patch("commands.bus.volcano.sh", "turned", {"metadata": {"finalizers": []}}) == ""
    tenants.delete("commands.bus.volcano.sh", "turned")


def test_task_priority_outside_of_32_bits_is_rejected(tenants: Tenants) -> None:
    key = "volcano.sh/task-priority"
    message = f"{DENIED}Pod {NAMESPACE}/immune: metadata.annotations[{key}]: '99999999999' is not a number from"
    assert message in tenants.refusal(pod("immune", annotations={key: "99999999999"}))
    assert tenants.refusal(pod("ordered", annotations={key: "7"})) == ""


def test_forbidden_priority_class_is_rejected_in_either_order(tenants: Tenants) -> None:
    member = pod("early", annotations={GROUP_NAME: "late"}, priorityClassName="tenants-high")
    message = f"{DENIED}Pod {NAMESPACE}/early: spec.priorityClassName: priority class 'tenants-high' is not allowed in"
    assert f"{message} every queue, and PodGroup {NAMESPACE}/late does not exist yet" in tenants.refusal(member)
    job = workload("Job", pod_template(annotations={GROUP_NAME: "late"}, priorityClassName="tenants-high"))
    assert "spec.template.spec.priorityClassName: priority class 'tenants-high' is not allowed in every queue" in (
        tenants.refusal(job)
    ), "its controller would create the pods with its own account"
    assert tenants.refusal(group("late", queue="default")) == ""
    assert f"{message} queue 'default'" in tenants.refusal(member)


def test_running_pod_keeps_what_it_requests_of_a_shared_gpu(tenants: Tenants) -> None:
    """A smaller fraction would give the rest of its GPU to others while it still uses it."""
    assert tenants.refusal(pod("sharing", annotations={"gpu-fraction": "0.5"})) == ""
    denied = f"{DENIED}Pod {NAMESPACE}/sharing: metadata.annotations[gpu-fraction]: is immutable"
    for value in ("0.01", None):
        assert denied in tenants.patch("pod", "sharing", {"metadata": {"annotations": {"gpu-fraction": value}}})
    assert tenants.patch("pod", "sharing", {"metadata": {"annotations": {"note": "x"}}}) == ""
    tenants.delete("pod", "sharing")
    held = pod("dying", annotations={"gpu-fraction": "0.5"})
    held["metadata"]["finalizers"] = ["example.com/hold"]
    assert tenants.refusal(held) == ""
    tenants.delete("pod", "dying", user="bob")
    denied = f"{DENIED}Pod {NAMESPACE}/dying: metadata.annotations: cannot change while the object is being deleted"
    assert denied in tenants.patch("pod", "dying", {"metadata": {"annotations": {"gpu-fraction": "0.01"}}})
    assert tenants.patch("pod", "dying", {"metadata": {"finalizers": []}}) == ""


def _apply_group(tenants: Tenants, queue: str) -> str:
    document = json.dumps(group("applied", queue=queue))
    return tenants.run("apply", "--server-side", "--field-manager=bob", "-f", "-", stdin=document)


def _generate(tenants: Tenants) -> str:
    document = group("", queue="science")
    document["metadata"] = {"generateName": "made-", "namespace": NAMESPACE}
    return tenants.run("create", "-f", "-", stdin=json.dumps(document))


def _replace(tenants: Tenants) -> str:
    document = json.dumps(pod("plain", labels={QUEUE_NAME: "science"}))
    return tenants.run("replace", "-f", "-", stdin=document)


def _bind(tenants: Tenants) -> str:
    target = {"apiVersion": "v1", "kind": "Node", "name": "any"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "plain"}, "target": target}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/plain/binding"
    return tenants.run("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))


_ANNOTATED = f"{QUEUE_NAME}=science"
_OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "any", "uid": "u-1", "controller": True}
#: Requests of bob, each in another form, and what he reads.
REQUESTS: dict[str, tuple[Callable[[Tenants], str], str]] = {
    "server-side apply": (lambda it: _apply_group(it, "science"), "'science': 'bob' may not use it"),
    "a generated name": (_generate, "'science': 'bob' may not use it"),
    "a dry run": (
        lambda it: it.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(group("dry", queue="science"))),
        "'science': 'bob' may not use it",
    ),
    "another apply": (
        lambda it: _apply_group(it, "default") or _apply_group(it, "science"), "spec.queue: is immutable",
    ),
    "an annotation": (lambda it: it.run("annotate", "pod", "plain", _ANNOTATED), f"[{QUEUE_NAME}]: is immutable"),
    "a label": (lambda it: it.run("label", "pod", "plain", _ANNOTATED), f"[{QUEUE_NAME}]: is immutable"),
    "a replacement": (_replace, f"metadata.labels[{QUEUE_NAME}]: is immutable"),
    "an owner": (
        lambda it: it.patch("pod", "plain", {"metadata": {"ownerReferences": [_OWNER]}}),
        "pods of Job 'any' are created by its controller",
    ),
    "a binding": (_bind, 'cannot create resource "pods/binding"'),
    "the queue of the namespace": (
        lambda it: it.run("annotate", "namespace", NAMESPACE, _ANNOTATED), 'cannot patch resource "namespaces"',
    ),
    "the queue itself": (lambda it: it.run("annotate", "queue", "default", f"{CLASSES}-"), 'resource "queues"'),
}  # fmt: skip


@pytest.mark.parametrize("form", REQUESTS)
def test_no_form_of_request_leaves_the_queues_of_the_tenant(tenants: Tenants, form: str) -> None:
    send, refusal = REQUESTS[form]
    assert tenants.run("apply", "-f", "-", stdin=json.dumps(pod("plain"))) == ""
    assert refusal in send(tenants)
    assert "science" not in tenants.queues_in_use()


def test_annotations_of_objects_that_make_no_pods_set_no_queue(tenants: Tenants) -> None:
    """A tenant may create them, and name them as the owners of pods."""
    source = named("ConfigMap", "v1", "owner", metadata={"annotations": {QUEUE_NAME: "science"}})
    assert tenants.refusal(source) == ""
    uid = next(each["metadata"]["uid"] for each in tenants.found("configmaps") if each["metadata"]["name"] == "owner")
    owned = pod("owned")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
    ]
    assert tenants.refusal(owned) == ""
    made = f"podgroup-{uid}"
    tenants.webhook.wait(lambda: made in tenants.groups(), "the group of the pod")
    assert "science" not in tenants.queues_in_use()
