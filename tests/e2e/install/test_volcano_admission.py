"""A real API server calls the webhook for Volcano's Jobs, CronJobs, JobTemplates, JobFlows and Commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from testbed.plane import ControlPlane
from tests.e2e.environment.permissions import admit
from tests.e2e.environment.webhook import Document, Webhook, running_webhook

pytestmark = pytest.mark.only("real", because="the embedded server asks no webhooks")

NAMESPACE = "volcano-admission-test"
BATCH, FLOW = "batch.volcano.sh/v1alpha1", "flow.volcano.sh/v1alpha1"
DENIED = "denied the request: "
RBAC = "rbac.authorization.k8s.io"


def named(kind: str, version: str, name: str = "sample", **fields: Any) -> Document:
    metadata = {"name": name} if kind in ("Queue", "Namespace") else {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def task(name: str = "worker", **fields: Any) -> Document:
    container = {"name": "main", "image": "example/main", **fields.pop("container", {})}
    return {"name": name, "replicas": 2, "template": {"spec": {"containers": [container]}}, **fields}


def spec(*tasks: Document, **fields: Any) -> Document:
    return {"tasks": list(tasks) or [task()], **fields}


def job(*tasks: Document, name: str = "sample", **fields: Any) -> Document:
    return named("Job", BATCH, name, spec=spec(*tasks, **fields))


def cron_job(**fields: Any) -> Document:
    return named("CronJob", BATCH, spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": spec()}, **fields})


def flow(*flows: Document) -> Document:
    return named("JobFlow", FLOW, spec={"flows": list(flows), "jobRetainPolicy": "retain"})


def queue(name: str, **fields: Any) -> Document:
    return named("Queue", "scheduling.volcano.sh/v1beta1", name, spec={"weight": 1, **fields})


def command(action: str, kind: str = "Queue", version: str = "scheduling.volcano.sh/v1beta1") -> Document:
    target = {"apiVersion": version, "kind": kind, "name": "admission-other", "uid": "7"}
    return named("Command", "bus.volcano.sh/v1alpha1", action=action, target=target)


WORLD = [
    named("Namespace", "v1", NAMESPACE),
    queue("default"), queue("admission-other"), queue("admission-parent"),
    queue("admission-child", parent="admission-parent"),
    {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "test-volcano-users"}, "rules": [
        {"apiGroups": ["batch.volcano.sh", "flow.volcano.sh", "bus.volcano.sh"], "resources": ["*"], "verbs": ["*"]}]},
    {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "test-volcano-users"},
     "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "test-volcano-users"},
     "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "bob"}]},
    named("JobTemplate", FLOW, "etl", spec=spec(queue="admission-other")),
]  # fmt: skip


@pytest.fixture(scope="module")
def webhook(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    asyncio.run(_furnish(plane))
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": WORLD})
    with running_webhook(plane, tmp_path_factory.mktemp("webhook")) as made:
        applied = made.kubectl("apply", "-f", "-", stdin=items)
        assert applied.returncode == 0, applied.stderr
        made.start()
        made.register()
        yield made
        made.unregister()
        rest = json.dumps({"apiVersion": "v1", "kind": "List", "items": [each for each in WORLD if each != WORLD[1]]})
        made.kubectl("delete", "--wait=false", "-f", "-", stdin=rest)


async def _furnish(plane: ControlPlane) -> None:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        await admit(plane, client)


SAMPLE = f"Job {NAMESPACE}/sample: "
EVICTED = {"event": "PodEvicted", "action": "RestartJob"}
REJECTED: dict[str, tuple[Document, str]] = {
    "equal names of tasks": (job(task(), task()), f"{SAMPLE}spec.tasks[1].name: duplicated task name worker"),
    "minimum of the job": (job(minAvailable=3), f"{SAMPLE}spec.minAvailable: job 'minAvailable' should not be greater"),
    "minimum of a task": (
        job(task(minAvailable=3), minAvailable=1), f"{SAMPLE}spec.tasks[0].minAvailable: 'minAvailable' is greater th"),
    "successes": (job(minSuccess=3), f"{SAMPLE}spec.minSuccess: 3 is not from 1 to the total replicas, 2"),
    "circular dependencies": (
        job(task(dependsOn={"name": ["ps"]}), task("ps", dependsOn={"name": ["worker"]})),
        f"{SAMPLE}spec.tasks: job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"),
    "equal events": (
        job(policies=[EVICTED, EVICTED]), f"{SAMPLE}spec.policies[1].event: duplicate event PodEvicted"),
    "event and exit code": (
        job(policies=[{**EVICTED, "exitCode": 1}]), f"{SAMPLE}spec.policies[0]: must not specify event and exitCode"),
    "neither event nor exit code": (
        job(policies=[{"action": "AbortJob"}]), f"{SAMPLE}spec.policies[0]: either event and exitCode should be spec"),
    "any event and others": (
        job(policies=[EVICTED, {**EVICTED, "event": "*"}]), f"{SAMPLE}spec.policies[1]: if there's * here, no other"),
    "exit code of success": (
        job(policies=[{"action": "AbortJob", "exitCode": 0}]), f"{SAMPLE}spec.policies[0].exitCode: 0 is not a valid"),
    "unknown action": (
        job(policies=[{**EVICTED, "action": "Restart"}]), f"{SAMPLE}spec.policies[0].action: 'Restart' is an invalid"),
    "equal paths of volumes": (
        job(volumes=[{"mountPath": "/a", "volumeClaimName": "a"}, {"mountPath": "/a", "volumeClaimName": "b"}]),
        f"{SAMPLE}spec.volumes[1].mountPath: duplicated mountPath: /a"),
    "volume without a claim": (
        job(volumes=[{"mountPath": "/a"}]), f"{SAMPLE}spec.volumes[0]: either VolumeClaim or VolumeClaimName must be"),
    "unknown plugin": (job(plugins={"big": []}), f"{SAMPLE}spec.plugins.big: unable to find job plugin: big; use one"),
    "no image": (
        job(task(container={"image": ""})), f"{SAMPLE}spec.tasks[0].template.spec.containers[0].image: is missing"),
    "negative request": (
        job(task(container={"resources": {"requests": {"cpu": "-1"}}})),
        f'{SAMPLE}spec.tasks[0].template.spec.containers[0].resources.requests.cpu: "-1" is negative'),
    "partitions": (
        job(task(partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
        f"{SAMPLE}spec.tasks[0].partitionPolicy: 2 partitions of 2 pods are 4 pods, but the task has 2 replicas"),
    "unknown queue": (job(queue="nowhere"), f"{SAMPLE}spec.queue: queue 'nowhere' does not exist; create it"),
    "a queue with children": (
        job(queue="admission-parent"), f"{SAMPLE}spec.queue: can only submit job to leaf queue, queue 'admission-par"),
    "schedule": (cron_job(schedule="daily"), f"CronJob {NAMESPACE}/sample: spec.schedule: 'daily' does not have five"),
    "template of a cron job": (
        cron_job(jobTemplate={"spec": spec(minSuccess=3)}),
        f"CronJob {NAMESPACE}/sample: spec.jobTemplate.spec.minSuccess: 3 is not from 1 to"),
    "job template": (
        named("JobTemplate", FLOW, spec=spec(task(), task())),
        f"JobTemplate {NAMESPACE}/sample: spec.tasks[1].name: duplicated task name worker"),
    "flow with an unknown target": (
        flow({"name": "b", "dependsOn": {"targets": ["a"]}}),
        f"JobFlow {NAMESPACE}/sample: spec.flows[0].dependsOn.targets[0]: jobflow Flow is not DAG: vertex is not def"),
    "flow that depends on itself": (
        flow({"name": "a", "dependsOn": {"targets": ["a"]}}),
        f"JobFlow {NAMESPACE}/sample: spec.flows: jobflow Flow is not DAG: a depends on a"),
    "command": (
        command("CloseQueue", "Job", BATCH), f"Command {NAMESPACE}/sample: action: 'CloseQueue' is not an action for"),
}  # fmt: skip


@pytest.mark.parametrize("case", REJECTED)
def test_invalid_object_is_rejected_with_field_and_remedy(webhook: Webhook, case: str) -> None:
    document, message = REJECTED[case]
    assert f"{DENIED}{message}" in webhook.error_of(document)


ADMITTED: dict[str, Document] = {
    "job": job(),
    "job with dependencies and policies": job(
        task(dependsOn={"name": ["ps"]}, policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]), task("ps"),
        policies=[EVICTED, {"exitCode": 3, "action": "AbortJob"}], volumes=[{"mountPath": "/", "volumeClaimName": "c"}],
    ),
    "task with any number of restarts": job(task(maxRetry=-1)),
    "privileged container": job(task(container={"securityContext": {"privileged": True}})),
    "cron job": cron_job(),
    "flow": flow({"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}),
    "flow whose templates come later": flow({"name": "later"}),
    "command": command("CloseQueue"),
}  # fmt: skip


@pytest.mark.parametrize("case", ADMITTED)
def test_valid_object_is_admitted_without_a_warning(webhook: Webhook, case: str) -> None:
    assert webhook.error_of(ADMITTED[case]) == ""


def test_stored_job_has_the_defaults_of_volcano(webhook: Webhook) -> None:
    first, second = ({key: value for key, value in task().items() if key != "name"} for _ in range(2))
    stored = webhook.stores(job(first, {**second, "minAvailable": 1}), dry=True)["spec"]
    assert {key: stored[key] for key in ("queue", "schedulerName", "maxRetry", "minAvailable")} == {
        "queue": "default", "schedulerName": "volcano", "maxRetry": 3, "minAvailable": 3
    }  # fmt: skip
    assert [(each["name"], each["minAvailable"], each["maxRetry"]) for each in stored["tasks"]] == [
        ("default0", 2, 3), ("default1", 1, 3)
    ]  # fmt: skip


CHANGES: dict[str, tuple[Document, str]] = {
    "replicas and minimum": ({"minAvailable": 1, "maxRetry": 1, "priorityClassName": "high"}, ""),
    "minimum above the replicas": ({"minAvailable": 9}, "not be greater than total replicas"),
    "queue": ({"queue": "admission-other"}, "spec.queue: job updates may not change fields other than `minAvailable`"),
    "tasks": ({"tasks": [task(), task("ps")]}, "spec.tasks: job updates may not add or remove tasks"),
    "template": ({"tasks": [task(container={"image": "other"})]}, "spec.tasks[0].template: job updates may not change"),
}  # fmt: skip


def test_changes_of_a_job_that_its_controller_cannot_carry_out_are_rejected(webhook: Webhook) -> None:
    webhook.stores(job(name="stored"))
    patch = ("patch", "jobs.batch.volcano.sh", "stored", f"--namespace={NAMESPACE}", "--type=merge", "-p")
    for name, (changes, message) in CHANGES.items():
        answer = webhook.kubectl(*patch, json.dumps({"spec": changes}))
        assert message in answer.stderr, name
        assert (answer.returncode != 0) == bool(message), (name, answer.stderr)


USES: dict[str, tuple[Document, str]] = {
    "job": (job(queue="admission-other"), "spec.queue: queue 'admission-other': 'bob' may not use it"),
    "cron job": (
        cron_job(jobTemplate={"spec": spec(queue="admission-other")}), "spec.jobTemplate.spec.queue: queue 'admission"),
    "flow": (flow({"name": "etl"}), "spec.flows[0].name: queue 'admission-other': 'bob' may not use it"),
    "command": (command("CloseQueue"), "target.name: queue 'admission-other': 'bob' may not update it"),
}  # fmt: skip


@pytest.mark.parametrize("case", USES)
def test_queue_of_another_team_is_forbidden(webhook: Webhook, case: str) -> None:
    document, message = USES[case]
    assert message in webhook.error_of(document, user="bob")
    assert webhook.error_of(document) == "", "administrators may use it"
