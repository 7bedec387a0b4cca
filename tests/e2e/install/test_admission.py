"""A real API server calls the webhook: the errors that users read, and the result when the webhook is down."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from testbed.fault_proxy import FaultProxy
from testbed.plane import NAMESPACE as OUR_NAMESPACE
from testbed.plane import ControlPlane
from testbed.proxy_faults import Answer, Match
from tests.e2e.environment.cluster import Cluster
from tests.e2e.environment.faulty_cluster import STREAMED_LISTS
from tests.e2e.environment.permissions import admit
from tests.e2e.environment.webhook import CONFIGURATION, Document, Webhook, running_webhook

pytestmark = pytest.mark.only("real", because="the embedded server asks no webhooks")

NAMESPACE = "admission-test"
VOLCANO = "scheduling.volcano.sh/v1beta1"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
GROUP_NAME = "scheduling.k8s.io/group-name"
CLASSES = "scheduling.stromboli.dev/priority-classes"
DENIED = "denied the request: "


def named(kind: str, version: str, name: str = "sample", **facts: Any) -> Document:
    metadata = {"name": name, **facts.pop("metadata", {})}
    if kind not in ("Queue", "HyperNode", "Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass"):
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **facts}


def queue(name: str = "sample", annotations: dict[str, str] | None = None, **spec: Any) -> Document:
    return named("Queue", VOLCANO, name, metadata={"annotations": annotations or {}}, spec=spec)


def group(name: str = "sample", **spec: Any) -> Document:
    return named("PodGroup", VOLCANO, name, spec={"minMember": 1, **spec})


def pod(name: str = "sample", *, scheduler: str = "volcano", priority: str = "", **annotations: str) -> Document:
    spec: Document = {"schedulerName": scheduler, "containers": [{"name": "main", "image": "example/main"}]}
    if priority:
        spec["priorityClassName"] = priority
    return named("Pod", "v1", name, metadata={"annotations": annotations}, spec=spec)


def job(**annotations: str) -> Document:
    template = {"metadata": {"annotations": annotations}, "spec": {**pod()["spec"], "restartPolicy": "Never"}}
    return named("Job", "batch/v1", spec={"template": template})


def hyper_node(pattern: str) -> Document:
    member = {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}
    return named("HyperNode", "topology.volcano.sh/v1alpha1", spec={"tier": 1, "members": [member]})


RBAC = "rbac.authorization.k8s.io"
WORKERS = [
    named("ClusterRole", f"{RBAC}/v1", "test-workers", rules=[
        {"apiGroups": ["", "batch", "scheduling.volcano.sh"], "resources": ["pods", "jobs", "podgroups"],
         "verbs": ["create", "get", "list", "patch", "update", "delete"]}]),
    named("ClusterRoleBinding", f"{RBAC}/v1", "test-workers",
          roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "test-workers"},
          subjects=[{"apiGroup": RBAC, "kind": "User", "name": name} for name in ("alice", "bob")]),
    named("ClusterRole", f"{RBAC}/v1", "test-users-of-science", rules=[
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["queues"], "verbs": ["use"],
         "resourceNames": ["science"]}]),
    named("ClusterRoleBinding", f"{RBAC}/v1", "test-users-of-science",
          roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "test-users-of-science"},
          subjects=[{"apiGroup": RBAC, "kind": "User", "name": "alice"}]),
    named("Namespace", "v1", NAMESPACE),
    named("PriorityClass", "scheduling.k8s.io/v1", "test-high", value=1000),
    queue("default"), queue("science", {CLASSES: "test-low"}), queue("physics", parent="science"),
]  # fmt: skip


async def furnish(plane: ControlPlane) -> None:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        await admit(plane, client)


@pytest.fixture(scope="module")
def webhook(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    """A process that is asked by the server, and tenants: alice may use queue science, bob may not."""
    asyncio.run(furnish(plane))
    with running_webhook(plane, tmp_path_factory.mktemp("webhook")) as made:
        everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": WORKERS})
        applied = made.kubectl("apply", "-f", "-", stdin=everything)
        assert applied.returncode == 0, applied.stderr
        made.start()
        made.register()
        try:
            yield made
        finally:
            made.unregister()
            ours = [each for each in WORKERS if each["metadata"]["name"] != "default"]
            gone = json.dumps({"apiVersion": "v1", "kind": "List", "items": ours})
            made.kubectl("delete", "--wait=false", "-f", "-", stdin=gone)


REFUSED: dict[str, tuple[Document, str]] = {
    "sub-groups that need more": (
        group(minMember=2, subGroupPolicy=[{"name": "a", "minSubGroups": 3, "matchLabelKeys": ["part"]}]),
        f"PodGroup {NAMESPACE}/sample: spec.minMember: is 2, but the sub-groups need 3 members; write 3, or lower"),
    "a group in no queue": (
        group(queue="nowhere"),
        f"PodGroup {NAMESPACE}/sample: spec.queue: queue 'nowhere' does not exist; create it, or name another"),
    "a queue without a parent": (
        queue(parent="missing"),
        "Queue sample: spec.parent: queue 'missing' does not exist; name another, or leave it empty"),
    "a tree of weights": (
        queue(annotations={"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1"}),
        "Queue sample: metadata.annotations[volcano.sh/hierarchy-weights]: '1' does not have one weight per level"),
    "a pattern that is none": (hyper_node("a("), "HyperNode sample: spec.members[0].selector.regexMatch.pattern: "),
    "a member of another namespace": (
        pod(**{GROUP_NAME: "else/where"}),
        f"Pod {NAMESPACE}/sample: metadata.annotations[{GROUP_NAME}]: 'else/where' is in another namespace"),
    "a share of a GPU that is none": (
        pod(**{"gpu-fraction": "1.5"}), f"Pod {NAMESPACE}/sample: metadata.annotations[gpu-fraction]: "),
    "a job in no queue": (
        job(**{QUEUE_NAME: "nowhere"}),
        f"Job {NAMESPACE}/sample: spec.template.metadata.annotations[{QUEUE_NAME}]: queue 'nowhere' does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(webhook: Webhook, case: str) -> None:
    document, words = REFUSED[case]
    assert f"{DENIED}{words}" in webhook.error_of(document)


def test_a_circle_of_queues_is_refused_and_queues_that_others_need_stay(webhook: Webhook) -> None:
    patched = webhook.kubectl("patch", "queue", "science", "--type=merge", "-p", '{"spec":{"parent":"physics"}}')
    assert f"{DENIED}Queue science: spec.parent: the queue is its own ancestor; name another" in patched.stderr
    deleted = webhook.kubectl("delete", "queue", "science")
    assert f"{DENIED}Queue science: metadata.name: the queue has children: physics; delete them first" in deleted.stderr
    deleted = webhook.kubectl("delete", "queue", "default")
    assert f"{DENIED}Queue default: metadata.name: queue 'default' is protected" in deleted.stderr


def test_a_queue_and_a_group_in_it_come_in_one_breath(webhook: Webhook) -> None:
    """However late the news of the queue is: it is looked up before anything is refused."""
    for number in range(5):
        name = f"fresh-{number}"
        both = {"apiVersion": "v1", "kind": "List", "items": [queue(name), group(name, queue=name)]}
        assert webhook.error_of(both, dry=False) == ""
        assert webhook.kubectl("delete", "-f", "-", stdin=json.dumps(both)).returncode == 0


TENANTS: dict[str, Document] = {
    "a group": group(queue="science"),
    "a plain pod": pod(**{QUEUE_NAME: "science"}),
    "a job": job(**{QUEUE_NAME: "science"}),
}
FIELDS = {
    "a group": "spec.queue",
    "a plain pod": f"metadata.annotations[{QUEUE_NAME}]",
    "a job": f"spec.template.metadata.annotations[{QUEUE_NAME}]",
}


@pytest.mark.parametrize("case", TENANTS)
def test_tenants_use_the_queues_that_they_may_use(webhook: Webhook, case: str) -> None:
    document = TENANTS[case]
    assert webhook.error_of(document, user="alice") == ""
    refusal = webhook.error_of(document, user="bob")
    assert (
        f"{DENIED}{document['kind']} {NAMESPACE}/sample: {FIELDS[case]}: queue 'science': 'bob' may not use" in refusal
    )
    assert "name another queue, or request the verb use on queues.scheduling.volcano.sh science" in refusal
    elsewhere = json.loads(json.dumps(document).replace('"science"', '"default"'))
    assert webhook.error_of(elsewhere, user="bob") == "", "every user may use this queue"


def test_queue_restricts_the_priority_classes_of_its_jobs(webhook: Webhook) -> None:
    document = group(queue="science", priorityClassName="test-high")
    words = "spec.priorityClassName: priority class 'test-high' is not allowed in queue 'science'; use one of test-low"
    assert f"{DENIED}PodGroup {NAMESPACE}/sample: {words}" in webhook.error_of(document, user="alice")
    plain = pod(priority="test-high", **{QUEUE_NAME: "science"})
    assert f"{DENIED}Pod {NAMESPACE}/sample: {words}" in webhook.error_of(plain, user="alice")
    assert webhook.error_of(document) == "", "administrators do as they like"


def test_what_decides_about_the_place_in_line_stays(webhook: Webhook) -> None:
    webhook.stores(group("frozen", queue="science"), user="alice")
    changed = {"metadata": {"labels": {"note": "x"}}, "status": {"phase": "Inqueue"}}
    frozen = ("podgroup", "frozen", f"--namespace={NAMESPACE}", "--type=merge", "-p")
    assert webhook.kubectl("patch", *frozen, json.dumps(changed), user="alice").returncode == 0
    for spec in ({"queue": "default"}, {"minMember": 2}):
        refused = webhook.kubectl("patch", *frozen, json.dumps({"spec": spec}), user="alice").stderr
        assert f"{DENIED}PodGroup {NAMESPACE}/frozen: spec.{next(iter(spec))}: is immutable" in refused
    assert webhook.kubectl("patch", *frozen, '{"spec":{"minMember":2}}').returncode == 0, "administrators may"
    member = pod("member", **{GROUP_NAME: "frozen"})
    assert "queue 'science': 'bob' may not use it" in webhook.error_of(member, user="bob")
    assert webhook.error_of(member, user="alice") == ""


def test_warnings_reach_people(webhook: Webhook) -> None:
    assert "Warning: spec.priorityClassName: priority class 'lost' does not exist yet" in webhook.error_of(
        group(priorityClassName="lost")
    )


def test_what_was_not_said_is_filled_in(webhook: Webhook) -> None:
    assert webhook.stores(pod(scheduler="default-scheduler", **{GROUP_NAME: "g"}), dry=True)["spec"][
        "schedulerName"
    ] == ("stromboli")
    assert webhook.stores(pod(scheduler="default-scheduler"), dry=True)["spec"]["schedulerName"] == "default-scheduler"
    assert webhook.stores(group(), dry=True)["spec"]["queue"] == "default"
    shared = webhook.stores(pod(**{"gpu-fraction": "0.5"}), dry=True)
    assert "NVIDIA_VISIBLE_DEVICES" in {entry["name"] for entry in shared["spec"]["containers"][0]["env"]}
    annotated = ("annotate", "namespace", NAMESPACE)
    assert webhook.kubectl(*annotated, f"{QUEUE_NAME}=physics").returncode == 0
    webhook.wait(lambda: webhook.stores(group(), dry=True)["spec"]["queue"] == "physics", "the queue of the namespace")
    assert webhook.stores(group(queue="science"), dry=True)["spec"]["queue"] == "science"
    assert webhook.kubectl(*annotated, f"{QUEUE_NAME}-").returncode == 0
    webhook.wait(lambda: webhook.stores(group(), dry=True)["spec"]["queue"] == "default", "no queue of the namespace")


async def test_a_cluster_goes_on_with_it(webhook: Webhook, cluster: Cluster) -> None:
    """Groups are created for plain pods, gangs are placed, and statuses are written."""
    await cluster.create_gang("gang", 2, "1")
    await cluster.create_pod("plain", "1")
    await cluster.until_phase("gang", "Running")

    async def is_placed() -> bool:
        return bool((await cluster.pods())["plain"].spec.node_name)

    await cluster.until(is_placed, "a plain pod has a group, and a node")
    assert "request failed" not in webhook.log


def test_pods_of_others_and_spared_namespaces_are_not_asked_about(webhook: Webhook) -> None:
    asked = webhook.log.count("request denied")
    assert webhook.error_of(pod(scheduler="other", **{GROUP_NAME: "else/where"}), user="bob") == ""
    spared = pod(**{GROUP_NAME: "else/where"})
    spared["metadata"]["namespace"] = "kube-system"
    assert webhook.error_of(spared) == ""
    assert webhook.log.count("request denied") == asked


def test_a_certificate_is_exchanged_while_the_process_runs(webhook: Webhook) -> None:
    before = served(webhook.port)
    webhook.renew()
    webhook.wait(lambda: served(webhook.port) != before, "the new certificate")
    webhook.register()
    assert DENIED in webhook.error_of(queue(parent="missing"))


def served(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port))


def test_terminating_process_answers_until_the_server_stops_calling_it(webhook: Webhook) -> None:
    port = webhook.port
    webhook.stop()
    webhook.start("--shutdown-delay=10m", port=port)
    webhook.ask_to_stop()
    assert DENIED in webhook.error_of(queue(parent="missing"))


def test_a_server_that_cannot_stream_lists_is_asked_for_pages(webhook: Webhook) -> None:
    port = webhook.port
    webhook.stop()
    with FaultProxy(webhook.plane.url) as proxy:
        proxy.faults.add(STREAMED_LISTS, Answer(422, "Invalid", "sendInitialEvents is forbidden"), times=None)
        webhook.start(f"--master={proxy.url}", "--shutdown-delay=0", port=port)
        assert DENIED in webhook.error_of(queue(parent="missing"))
        assert proxy.seen(Match("GET", "/queues.*limit="))
        webhook.ask_to_stop()
        assert webhook.ends() == 0


OURS = f"system:serviceaccount:{OUR_NAMESPACE}:stromboli-scheduler"
OUR_GROUPS = (f"system:serviceaccounts:{OUR_NAMESPACE}", "system:masters")


def test_unavailable_webhook_fails_by_its_configured_failure_policy(webhook: Webhook) -> None:
    """Authorisation fails closed and defaults fail open, unless configured otherwise."""
    webhook.stop()
    assert 'failed calling webhook "queues.admission.stromboli.dev"' in webhook.error_of(queue())
    assert webhook.error_of(pod(scheduler="other")) == "", "pods of other schedulers are not reviewed"
    change = json.dumps({"metadata": {"annotations": {"note": "x"}}, "status": {"phase": "Running"}})
    made = webhook.kubectl("create", "-f", "-", stdin=json.dumps(group("running")), user=OURS, groups=OUR_GROUPS)
    assert made.returncode == 0, "our controllers go on"
    running = ("patch", "podgroup", "running", f"--namespace={NAMESPACE}", "--type=merge", "-p", change)
    assert "failed calling webhook" in webhook.kubectl(*running).stderr
    assert webhook.kubectl(*running, user=OURS, groups=OUR_GROUPS).returncode == 0, "the scheduler goes on"
    patch = [{"op": "replace", "path": f"/webhooks/{place}/failurePolicy", "value": "Ignore"} for place in range(7)]
    opened = webhook.kubectl(
        "patch", "validatingwebhookconfiguration", CONFIGURATION, "--type=json", "-p", json.dumps(patch)
    )
    assert opened.returncode == 0, opened.stderr
    webhook.wait(lambda: webhook.error_of(queue()) == "", "the server lets it pass")
