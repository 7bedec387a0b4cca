"""Volcano's Jobs, CronJobs, JobTemplates, JobFlows and Commands as the webhook reviews and completes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AUTHORISATION, AdmissionPolicy
from stromboli.admission.requests import Request, User
from stromboli.admission.review import review
from stromboli.admission.verdict import AdmissionVerdict
from stromboli.controllers.jobs.plugins.plugin import JobPlugin
from stromboli.controllers.jobs.plugins.registry import JobPlugins
from stromboli.local.patching.patches import json_patch
from tests.unit.admission.requests import ADMINISTRATOR, ALICE, FACTS, Document, request

BATCH, FLOW, BUS = "batch.volcano.sh", "flow.volcano.sh", "bus.volcano.sh"


class ServicePlugin(JobPlugin):
    name: ClassVar[str] = "service"


class ClusterPlugin(JobPlugin):
    name: ClassVar[str] = "cluster"
    requires: ClassVar[tuple[str, ...]] = ("service",)


POLICY = AdmissionPolicy(job_plugins=JobPlugins((ServicePlugin, ClusterPlugin)))
SPEC: Document = {"containers": [{"name": "main", "image": "example/main"}]}


def spec(**fields: Any) -> Document:
    tasks = [{"name": "worker", "replicas": 2, "template": {"spec": fields.pop("pod", SPEC)}}]
    return {"queue": "default", "tasks": tasks, **fields}


def job(**fields: Any) -> Request:
    user, namespace = fields.pop("user", ALICE), fields.pop("namespace", "team")
    return request("Job", {"spec": spec(**fields)}, user=user, namespace=namespace, group=BATCH)


def cron_job(user: User = ALICE, **fields: Any) -> Request:
    document = {"schedule": "0 3 * * *", "jobTemplate": {"spec": spec(**fields)}}
    return request("CronJob", {"spec": document}, user=user, group=BATCH)


def job_template(**fields: Any) -> Request:
    return request("JobTemplate", {"spec": spec(**fields)}, user=ALICE, group=FLOW)


def flow(*flows: Document) -> Request:
    return request("JobFlow", {"spec": {"flows": list(flows)}}, user=ALICE, group=FLOW)


def command(action: str, kind: str, user: User = ALICE) -> Request:
    version = "scheduling.volcano.sh/v1beta1" if kind == "Queue" else f"{BATCH}/v1alpha1"
    target = {"apiVersion": version, "kind": kind, "name": "science", "uid": "7"}
    return request("Command", {"action": action, "target": target}, user=user, group=BUS)


TEMPLATES = {"team/etl": spec(queue="science"), "team/plain": spec(), "team/urgent": spec(priorityClassName="high")}


def verdict_of(asked: Request, policy: AdmissionPolicy = POLICY) -> AdmissionVerdict:
    return review(asked, replace(FACTS, job_templates=TEMPLATES), policy)


DENIED: dict[str, tuple[Request, str]] = {
    "no tasks": (job(tasks=[]), "Job team/sample: spec.tasks: No task specified in job spec; write at least one"),
    "several mistakes": (
        job(minAvailable=3, policies=[{"event": "PodFailed", "exitCode": 1, "action": "AbortJob"}]),
        "Job team/sample: spec.minAvailable: job 'minAvailable' should not be greater than total replicas: 3 is above "
        "2; write at most the replicas of all tasks; and spec.policies[0]: must not specify event and exitCode sim"),
    "unknown plugin": (
        job(plugins={"big": []}),
        "Job team/sample: spec.plugins.big: unable to find job plugin: big; use one of cluster, service, or install"),
    "arguments of a wrong type": (
        job(plugins={"cluster": "--port=1"}), "Job team/sample: spec.plugins.cluster: expected a list of strings; wri"),
    "amounts of a template": (
        job(pod={"containers": [{**SPEC["containers"][0], "resources": {"requests": {"cpu": "-1"}}}]}),
        "Job team/sample: spec.tasks[0].template.spec.containers[0].resources.requests.cpu: \"-1\" is negative; a qua"),
    "unknown queue": (
        job(queue="nowhere"), "Job team/sample: spec.queue: queue 'nowhere' does not exist; create it, or name anothe"),
    "a closed queue": (job(queue="shut"), "Job team/sample: spec.queue: queue 'shut' is Closed; name a queue that is"),
    "a closing queue": (job(queue="shutting"), "Job team/sample: spec.queue: queue 'shutting' is Closing; name a"),
    "the root": (job(queue="root"), "Job team/sample: spec.queue: can not submit job to root queue; name a queue belo"),
    "a queue with children": (
        job(queue="science"), "Job team/sample: spec.queue: can only submit job to leaf queue, queue 'science' has 1"),
    "a closed queue of a task's template": (
        cron_job(queue="shut"), "CronJob team/sample: spec.jobTemplate.spec.queue: queue 'shut' is Closed; name a que"),
    "schedule": (
        request("CronJob", {"spec": {"schedule": "daily", "jobTemplate": {"spec": spec()}}}, group=BATCH),
        "CronJob team/sample: spec.schedule: 'daily' does not have five fields; write one such as"),
    "plugin of a cron job": (
        cron_job(plugins={"big": []}), "CronJob team/sample: spec.jobTemplate.spec.plugins.big: unable to find job pl"),
    "template of a flow": (
        job_template(minSuccess=3), "JobTemplate team/sample: spec.minSuccess: 3 is not from 1 to the total replicas,"),
    "a flow that is no DAG": (
        flow({"name": "a", "dependsOn": {"targets": ["b"]}}),
        "JobFlow team/sample: spec.flows[0].dependsOn.targets[0]: jobflow Flow is not DAG: vertex is not defined: b"),
    "a queue with children, named by a template": (
        flow({"name": "etl"}), "JobFlow team/sample: spec.flows[0].name: can only submit job to leaf queue, queue 'sc"),
    "a closed queue, named by a patch": (
        flow({"name": "plain", "patch": {"jobSpec": {"queue": "shut"}}}),
        "JobFlow team/sample: spec.flows[0].patch.jobSpec.queue: queue 'shut' is Closed"),
    "command": (
        command("CloseQueue", "Job"), "Command team/sample: action: 'CloseQueue' is not an action for a Job; use one "),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "message"), DENIED.values(), ids=DENIED)
def test_invalid_object_is_rejected_with_field_and_remedy(asked: Request, message: str) -> None:
    assert verdict_of(asked).message[: len(message)] == message


def test_object_with_very_many_mistakes_is_rejected_with_the_first_of_them() -> None:
    verdict = verdict_of(job(policies=20_000 * [{"event": "PodFailed", "action": "AbortJob"}]))
    assert len(verdict.violations) == 51
    assert verdict.message.endswith("remove one of them; and 19949 more problems")


#: The queues that the user must be allowed to use or to change.
USED: dict[str, tuple[Request, set[tuple[str, str]]]] = {
    "job in the public queue": (job(), set()),
    "job": (job(queue="physics"), {("physics", "use")}),
    "job of a namespace with a queue, which the default does not replace": (
        job(namespace="bench"), {("physics", "use")}),
    "job of a trusted user": (job(queue="physics", user=ADMINISTRATOR), set()),
    "cron job": (cron_job(queue="physics"), {("physics", "use")}),
    "template": (job_template(queue="physics"), {("physics", "use")}),
    "flow": (flow({"name": "plain"}), set()),
    "flow with a patch": (
        flow({"name": "plain", "patch": {"jobSpec": {"queue": "physics"}}}), {("physics", "use")}),
    "flow of a missing template": (flow({"name": "later"}), set()),
    "command for a job": (command("AbortJob", "Job"), set()),
    "command for a queue": (command("CloseQueue", "Queue"), {("science", "update")}),
    "command for a queue by a trusted user": (command("CloseQueue", "Queue", ADMINISTRATOR), set()),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "expected"), USED.values(), ids=USED)
def test_user_needs_access_to_the_queue(asked: Request, expected: set[tuple[str, str]]) -> None:
    namespaces = {**FACTS.namespaces, "bench": replace_queue("physics")}
    facts = replace(FACTS, job_templates=TEMPLATES, namespaces=namespaces)
    verdict = review(asked, facts, POLICY)
    assert verdict.is_allowed, verdict.message
    assert {(use.queue, use.verb) for use in verdict.uses} == expected
    assert not review(asked, facts, replace(POLICY, without=frozenset((AUTHORISATION,)))).uses


def replace_queue(queue: str) -> Any:
    namespace = FACTS.namespaces["lab"]
    annotations = dict.fromkeys(namespace.metadata.annotations or {}, queue)
    return type(namespace)(metadata=type(namespace.metadata)(name="bench", annotations=annotations))


def test_command_that_is_changed_needs_access_like_a_new_one() -> None:
    """The controllers execute a Command in the form in which they find it."""
    before, after = (command(action, kind).document for action, kind in (("AbortJob", "Job"), ("CloseQueue", "Queue")))
    verdict = verdict_of(request("Command", after, before=before, user=ALICE, group=BUS))
    assert [(use.queue, use.verb) for use in verdict.uses] == [("science", "update")]
    leaving = {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}
    held = request("Command", {**after, **leaving}, before={**before, **leaving}, user=ALICE, group=BUS)
    assert "target: cannot change while the object is being deleted" in verdict_of(held).message


def test_priority_class_of_a_job_must_be_allowed_in_its_queue() -> None:
    facts = replace(FACTS, queues={**FACTS.queues, "physics": FACTS.queues["science"]})
    message = review(job(queue="physics", priorityClassName="high"), facts, POLICY).message
    assert "spec.priorityClassName: priority class 'high' is not allowed in queue 'physics'" in message
    assert review(job(queue="physics", priorityClassName="low"), facts, POLICY).is_allowed


def updated(before: Document, after: Document, kind: str = "Job", group: str = BATCH) -> Request:
    return request(kind, {"spec": after}, before={"spec": before}, user=ALICE, group=group)


def scaled(replicas: int, **fields: Any) -> Document:
    task = {**spec()["tasks"][0], "replicas": replicas, "minAvailable": replicas}
    return spec(tasks=[task], **fields)


UPDATES: dict[str, tuple[Request, str]] = {
    "elastic": (updated(spec(minAvailable=2), spec(minAvailable=1)), ""),
    "to zero, with the minimum that a client leaves out": (
        updated(scaled(2, minAvailable=2), scaled(0)), ""),
    "minimum above the replicas": (
        updated(spec(), spec(minAvailable=3)), "spec.minAvailable: job 'minAvailable' should not be greater than tota"),
    "queue": (updated(spec(), spec(queue="physics")), "spec.queue: job updates may not change fields other than `min"),
    "tasks": (updated(spec(), spec(tasks=spec()["tasks"] * 2)), "spec.tasks: job updates may not add or remove tasks"),
    "violation that the job had": (updated(spec(minSuccess=9), spec(minSuccess=9, minAvailable=1)), ""),
    "template": (updated(spec(), spec(queue="default", maxRetry=1), "JobTemplate", FLOW), ""),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "message"), UPDATES.values(), ids=UPDATES)
def test_update(asked: Request, message: str) -> None:
    verdict = verdict_of(asked)
    assert verdict.is_allowed != bool(message), verdict.message
    assert message in verdict.message


DEFAULTS: dict[str, tuple[Request, Document]] = {
    "unnamed tasks": (
        request("Job", {"spec": {"tasks": [{"replicas": 2, "template": {"spec": SPEC}}]}}, group=BATCH),
        {"queue": "default", "schedulerName": "volcano", "maxRetry": 3, "minAvailable": 2, "tasks": [
            {"name": "default0", "replicas": 2, "minAvailable": 2, "maxRetry": 3, "template": {"spec": SPEC}}]}),
    "required plugins": (
        job(plugins={"cluster": ["--port=3"]}, tasks=[]),
        {"queue": "default", "schedulerName": "volcano", "maxRetry": 3, "tasks": [],
         "plugins": {"cluster": ["--port=3"], "service": []}}),
    "queue of the namespace": (
        job(namespace="lab", tasks=[]),
        {"queue": "science", "schedulerName": "volcano", "maxRetry": 3, "tasks": []}),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults_are_those_of_volcano_and_set_once(asked: Request, expected: Document) -> None:
    document = json_patch(asked.document, patch_for(asked, FACTS, POLICY))
    assert document["spec"] == expected
    again = request("Job", document, namespace=asked.namespace, group=BATCH)
    assert patch_for(again, FACTS, POLICY) == []


def test_scheduler_of_a_job_is_the_first_where_volcano_is_not_served() -> None:
    document = json_patch(job().document, patch_for(job(), FACTS, replace(POLICY, scheduler_names=("night", "day"))))
    assert document["spec"]["schedulerName"] == "night"
