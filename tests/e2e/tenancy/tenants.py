"""Tenants on a real API server, with Kubernetes' own controllers, the webhook and Stromboli's controllers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from testbed.controller_manager import controller_manager
from testbed.plane import ControlPlane
from tests.e2e.environment.permissions import admit
from tests.e2e.environment.webhook import Document, Webhook, running_webhook
from tests.integration.processes.conftest import Command

NAMESPACE = "tenants-test"
VOLCANO, COMMANDS = "scheduling.volcano.sh/v1beta1", "bus.volcano.sh/v1alpha1"
QUEUE_NAME, OTHER_QUEUE_NAME = "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"
GROUP_NAME = "scheduling.k8s.io/group-name"
CLASSES = "scheduling.stromboli.dev/priority-classes"
DENIED = "denied the request: "
RBAC = "rbac.authorization.k8s.io"
_WIDE = ("Queue", "ClusterRole", "PriorityClass", "Namespace")


def named(kind: str, version: str, name: str = "sample", **facts: Any) -> Document:
    metadata = {"name": name, **facts.pop("metadata", {})}
    if kind not in _WIDE:
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **facts}


def queue(name: str, **annotations: str) -> Document:
    return named("Queue", VOLCANO, name, metadata={"annotations": annotations}, spec={})


def group(name: str, **spec: Any) -> Document:
    return named("PodGroup", VOLCANO, name, spec={"minMember": 1, **spec})


def pod_template(*, annotations: Document | None = None, labels: Document | None = None, **spec: Any) -> Document:
    containers = [{"name": "main", "image": "example/main"}]
    metadata = {"annotations": annotations or {}, "labels": {"app": "sample", **(labels or {})}}
    return {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": containers, **spec}}


def pod(name: str, **facts: Any) -> Document:
    template = pod_template(**facts)
    return named("Pod", "v1", name, metadata=template["metadata"], spec=template["spec"])


_VERSIONS = {"Job": "batch/v1", "Deployment": "apps/v1", "ReplicationController": "v1"}


def workload(kind: str, template: Document, *, name: str = "sample", annotations: Document | None = None) -> Document:
    spec: Document = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    elif kind == "Deployment":
        spec |= {"selector": {"matchLabels": {"app": "sample"}}}
    return named(kind, _VERSIONS[kind], name, metadata={"annotations": annotations or {}}, spec=spec)


#: The account of a third-party controller that was installed beside Kubernetes' own.
WIDGETS = "system:serviceaccount:kube-system:widgets"
_SUBJECTS = [{"apiGroup": RBAC, "kind": "User", "name": name} for name in ("bob", WIDGETS)]
#: bob has the role `edit` in the namespace, and may use no queue but the public one.
WORLD = [
    named("Namespace", "v1", NAMESPACE),
    named("ClusterRole", f"{RBAC}/v1", "tenants-test-volcano", rules=[
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["*"]},
        {"apiGroups": ["bus.volcano.sh"], "resources": ["commands"], "verbs": ["*"]}]),
    *(named("RoleBinding", f"{RBAC}/v1", f"bob-{role}", roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            subjects=_SUBJECTS) for role in ("edit", "tenants-test-volcano")),
    named("PriorityClass", "scheduling.k8s.io/v1", "tenants-high", value=1000),
    queue("default", **{CLASSES: "tenants-low"}), queue("science"),
]  # fmt: skip


class Tenants:
    """The cluster as bob and the administrator see it."""

    def __init__(self, webhook: Webhook) -> None:
        self.webhook = webhook

    def refusal(self, document: Document, *, user: str = "bob") -> str:
        """What bob reads when he creates the object; empty if it is stored."""
        return self.webhook.error_of(document, user=user, dry=False)

    def patch(self, kind: str, name: str, patch: Document, *, user: str = "bob") -> str:
        done = self._kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(patch), user=user)
        return done.stderr if done.returncode else ""

    def run(self, *arguments: str, stdin: str = "") -> str:
        """What bob reads when his kubectl command fails."""
        done = self.webhook.kubectl(f"--namespace={NAMESPACE}", *arguments, stdin=stdin, user="bob")
        return done.stderr if done.returncode else ""

    def groups(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.found("podgroups.scheduling.volcano.sh")}

    def delete(self, kind: str, name: str, *, user: str = "") -> None:
        self._kubectl("delete", kind, name, "--wait=false", "--ignore-not-found", user=user)

    def may_create(self, resource: str) -> bool:
        return bool(self._kubectl("auth", "can-i", "create", resource, user="bob").returncode == 0)

    def found(self, kind: str) -> list[Document]:
        listed = self._kubectl("get", kind, "-o", "json")
        assert listed.returncode == 0, listed.stderr
        items: list[Document] = json.loads(listed.stdout)["items"]
        return items

    def queues_in_use(self) -> set[str]:
        """The queues of all groups, as the scheduler reads them."""
        return {
            each["spec"].get("queue") or each["metadata"].get("annotations", {}).get(QUEUE_NAME, "")
            for each in self.found("podgroups.scheduling.volcano.sh")
        }

    def has_pods(self, prefix: str) -> bool:
        return any(each["metadata"]["name"].startswith(prefix) for each in self.found("pods"))

    def _kubectl(self, *arguments: str, user: str = "") -> Any:
        return self.webhook.kubectl(f"--namespace={NAMESPACE}", *arguments, user=user)


async def _furnish(plane: ControlPlane) -> None:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        await admit(plane, client)


@contextlib.contextmanager
def _controller(plane: ControlPlane, folder: Path) -> Iterator[None]:
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "STROMBOLI_KUBECONFIG": str(plane.kubeconfig_of("controller")),
    }
    command = Command(
        "controller", "--scheduler-name=volcano", "--listen-address=", "--healthz-address=", "--leader-elect=false",
        environment=environment, folder=folder,
    )  # fmt: skip
    try:
        yield
    finally:
        command.kill()


@contextlib.contextmanager
def running_tenants(plane: ControlPlane, folder: Path, *, records_users: bool = False) -> Iterator[Tenants]:
    """The webhook and the controllers, each with its own account. Raises NoAssets."""
    options = ("--record-users",) if records_users else ()
    asyncio.run(_furnish(plane))
    with contextlib.ExitStack() as stack:
        webhook = stack.enter_context(running_webhook(plane, folder))
        everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": WORLD})
        applied = webhook.kubectl("apply", "-f", "-", stdin=everything)
        assert applied.returncode == 0, applied.stderr
        webhook.start(*options)
        webhook.register(*options)
        stack.enter_context(controller_manager(plane, folder, own_accounts=True))
        stack.enter_context(_controller(plane, folder))
        made = Tenants(webhook)
        webhook.wait(lambda: made.may_create("pods"), "a controller has completed the role edit")
        try:
            yield made
        finally:
            webhook.unregister()
            ours = [each for each in WORLD if each["metadata"]["name"] != "default"]
            gone = json.dumps({"apiVersion": "v1", "kind": "List", "items": ours})
            webhook.kubectl("annotate", "queue", "default", f"{CLASSES}-")
            webhook.kubectl("delete", "--timeout=50s", "-f", "-", stdin=gone)
