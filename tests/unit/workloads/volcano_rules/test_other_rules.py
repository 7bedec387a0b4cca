"""The rules for CronJobs, JobFlows, Commands, and for changes of Jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.defaults import fill_in_spec
from stromboli.workloads.families.volcano.rules.commands import command_findings
from stromboli.workloads.families.volcano.rules.cron_jobs import cron_job_findings
from stromboli.workloads.families.volcano.rules.flows import flow_findings
from stromboli.workloads.families.volcano.rules.updates import update_findings
from tests.unit.workloads.volcano_rules.test_job_rules import MAIN, MISSING, changed, job, template

CRON_JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "CronJob",
    "metadata": {"name": "hourly"},
    "spec": {
        "schedule": "0 * * * *",
        "timeZone": "Europe/Rome",
        "jobTemplate": {"spec": {"tasks": [{"name": "a", "replicas": 1, "template": template()}]}},
    },
}
CRON_JOBS: dict[str, tuple[dict[str, Any], str]] = {
    "valid": ({}, ""),
    "schedule": ({"spec.schedule": "0 * * *"}, "spec.schedule: '0 * * *' does not have five fields; write one such as"),
    "time zone": ({"spec.timeZone": "Mars"}, "spec.timeZone: time zone 'Mars' is unknown; write one such as Europe/Be"),
    "long name": ({"metadata.name": "a" * 60}, "metadata.name: is longer than 54 characters, and names of its jobs"),
    "name that makes names of pods too long": (
        {"metadata.name": "a" * 54}, "spec.jobTemplate.spec.tasks[0].name: the name of its last pod, "),
    "concurrency": ({"spec.concurrencyPolicy": "Wait"}, "spec.concurrencyPolicy: 'Wait' is not a policy; use one of"),
    "history": ({"spec.failedJobsHistoryLimit": -1}, "spec.failedJobsHistoryLimit: must be from 0 to"),
    "template": (
        {"spec.jobTemplate.spec.minAvailable": 2},
        "spec.jobTemplate.spec.minAvailable: job 'minAvailable' should not be greater than total replicas: 2"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CRON_JOBS.values(), ids=CRON_JOBS)
def test_cron_job(changes: dict[str, Any], expected: str) -> None:
    found = cron_job_findings(changed(CRON_JOB, changes))
    assert [str(each)[: len(expected)] for each in found] == [expected] * bool(expected)


FLOW = {
    "apiVersion": "flow.volcano.sh/v1alpha1",
    "kind": "JobFlow",
    "metadata": {"name": "flow"},
    "spec": {
        "jobRetainPolicy": "delete",
        "flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}, {"name": "c"}],
    },
}
FLOWS: dict[str, tuple[dict[str, Any], str]] = {
    "valid": ({}, ""),
    "unknown target": (
        {"spec.flows[0].name": "d"},
        "spec.flows[1].dependsOn.targets[0]: jobflow Flow is not DAG: vertex is not defined: a; name a flow"),
    "circle": (
        {"spec.flows[0].dependsOn": {"targets": ["b"]}}, "spec.flows: jobflow Flow is not DAG: "),
    "dependency on itself": (
        {"spec.flows[0].dependsOn": {"targets": ["a"]}}, "spec.flows: jobflow Flow is not DAG: a depends on a; remove"),
    "no name": ({"spec.flows[2].name": ""}, "spec.flows[2].name: is missing; write the name of a JobTemplate"),
    "name": ({"spec.flows[2].name": "C"}, "spec.flows[2].name: 'C': a lowercase RFC 1123 subdomain must"),
    "long name": ({"metadata.name": "a" * 61, "spec.flows": [{"name": "bc"}]}, "spec.flows[0].name: the name of its j"),
    "retain": ({"spec.jobRetainPolicy": "keep"}, "spec.jobRetainPolicy: 'keep' is not a policy; use retain or delete"),
    "policy of a patch": (
        {"spec.flows[2].patch": {"jobSpec": {"policies": [{"event": "PodFailed", "action": "x"}]}}},
        "spec.flows[2].patch.jobSpec.policies[0].action: 'x' is an invalid policy action"),
    "two flows of one name": ({"spec.flows[2].name": "b"}, "spec.flows[2].name: spec.flows[1] has the same name, and"),
    "no flows": ({"spec.flows": []}, "spec.flows: is empty: the flow creates no jobs; write at least one"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), FLOWS.values(), ids=FLOWS)
def test_flow(changes: dict[str, Any], expected: str) -> None:
    found = flow_findings(changed(FLOW, changes))
    assert [str(each)[: len(expected)] for each in found] == [expected] * bool(expected)


def test_flow_without_flows_or_with_equal_names_is_admitted_as_in_volcano() -> None:
    for name in ("two flows of one name", "no flows"):
        assert all(each.is_warning for each in flow_findings(changed(FLOW, FLOWS[name][0])))


JOB_TARGET = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "7f"}
QUEUE_TARGET = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "science", "uid": "7f"}
COMMANDS: dict[str, tuple[dict[str, Any], str]] = {
    "job": ({"action": "AbortJob", "target": JOB_TARGET}, ""),
    "queue": ({"action": "CloseQueue", "target": QUEUE_TARGET}, ""),
    "action of a queue for a job": (
        {"action": "CloseQueue", "target": JOB_TARGET}, "action: 'CloseQueue' is not an action for a Job; use one of "),
    "no action": ({"target": QUEUE_TARGET}, "action: is missing; use one of CloseQueue, OpenQueue"),
    "kind": (
        {"action": "AbortJob", "target": {**JOB_TARGET, "apiVersion": "batch/v1"}},
        "target.kind: Job of batch has no commands; name a Job of batch.volcano.sh or a Queue of scheduling.volcano.s"),
    "no uid": ({"action": "AbortJob", "target": {**JOB_TARGET, "uid": ""}}, "target.uid: is missing; write the uid of"),
}  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), COMMANDS.values(), ids=COMMANDS)
def test_command(document: dict[str, Any], expected: str) -> None:
    found = command_findings(WorkloadDocument({"kind": "Command", **document}))
    assert [str(each)[: len(expected)] for each in found] == [expected] * bool(expected)


NOT_CHANGEABLE = (
    "job updates may not change fields other than `minAvailable`, `maxRetry`, `priorityClassName`, and `replicas`, "
    "`minAvailable` and `maxRetry` of tasks; undo the change, or create a new job"
)
UPDATES: dict[str, tuple[dict[str, Any], str]] = {
    "minimum": ({"spec.minAvailable": 2}, ""),
    "priority class": ({"spec.priorityClassName": "high"}, ""),
    "replicas and minimum of a task": ({"spec.tasks[0].replicas": 2, "spec.tasks[0].minAvailable": 1}, ""),
    "retries": ({"spec.maxRetry": 7, "spec.tasks[0].maxRetry": 1}, ""),
    "name of a created claim": ({"spec.volumes[1].volumeClaimName": "other"}, ""),
    "name of a created claim that a manifest does not have": ({"spec.volumes[1].volumeClaimName": MISSING}, ""),
    "empty list": ({"spec.plugins": {}}, ""),
    "empty and zero values": (
        {"spec.tasks[0].template.metadata": {"creationTimestamp": None}, f"{MAIN}.resources.limits": {},
         f"{MAIN}.volumeMounts": [], f"{MAIN}.stdin": False}, ""),
    "amounts in another form": ({f"{MAIN}.resources.requests": {"cpu": 0.5, "memory": "2048Mi"}}, ""),
    "another amount": (
        {f"{MAIN}.resources.requests": {"cpu": "501m", "memory": "2Gi"}}, f"spec.tasks[0].template: {NOT_CHANGEABLE}"),
    "duration in another form": ({"spec.policies[1].timeout": "1h30m0s"}, ""),
    "another duration": ({"spec.policies[1].timeout": "1h30m1s"}, f"spec.policies: {NOT_CHANGEABLE}"),
    "list of another order": (
        {"spec.policies[0].events": ["PodFailed", "PodEvicted"]}, f"spec.policies: {NOT_CHANGEABLE}"),
    "queue": ({"spec.queue": "science"}, f"spec.queue: {NOT_CHANGEABLE}"),
    "template": (
        {"spec.tasks[0].template.spec.containers[0].image": "other"}, f"spec.tasks[0].template: {NOT_CHANGEABLE}"),
    "claim": ({"spec.volumes[0].volumeClaimName": "other"}, f"spec.volumes: {NOT_CHANGEABLE}"),
    "task less": (
        {"spec.tasks[1]": MISSING},
        "spec.tasks: job updates may not add or remove tasks; undo the change, or create a new job"),
}  # fmt: skip


def required(names: Iterable[str]) -> list[str]:
    return ["svc"] if "tensorflow" in names else []


@pytest.mark.parametrize(("changes", "expected"), UPDATES.values(), ids=UPDATES)
def test_update_of_a_job(changes: dict[str, Any], expected: str) -> None:
    requests = {f"{MAIN}.resources.requests": {"cpu": "500m", "memory": "2Gi"}}
    stored = changed(job(), {"spec.queue": "default", "spec.volumes[1].volumeClaimName": "train-pvc-1", **requests})
    fill_in_spec(stored.document["spec"], required, queue="default", scheduler="volcano")
    found = update_findings(stored, changed(dict(stored.document), changes), required)
    assert [str(each) for each in found] == [expected] * bool(expected)


def test_manifest_without_defaults_replaces_the_stored_job() -> None:
    plain = {"spec.tasks[0].name": "", "spec.tasks[1].dependsOn": MISSING, "spec.plugins": {"tensorflow": []}}
    written = changed(job(), {**plain, "spec.queue": "default", "spec.schedulerName": "volcano"})
    stored = changed(dict(written.document), {})
    fill_in_spec(stored.document["spec"], required)
    assert stored.document != written.document
    assert update_findings(stored, written, required) == []


DEFAULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "empty": ({}, {"queue": "q", "schedulerName": "volcano", "maxRetry": 3}),
    "values are kept": (
        {"queue": "a", "schedulerName": "b", "maxRetry": 0, "plugins": {"svc": ["-x"], "tensorflow": []}},
        {"queue": "a", "schedulerName": "b", "maxRetry": 0, "plugins": {"svc": ["-x"], "tensorflow": []}},
    ),
    "minimum is kept": ({"minAvailable": 1, "tasks": []}, {"minAvailable": 1, "tasks": []}),
    "tasks": (
        {"tasks": [{"replicas": 2}, {"name": "b", "replicas": 3, "minAvailable": 1, "maxRetry": 5}]},
        {"minAvailable": 3, "tasks": [{"name": "default0", "replicas": 2, "minAvailable": 2, "maxRetry": 3},
                                      {"name": "b", "replicas": 3, "minAvailable": 1, "maxRetry": 5}]},
    ),
    "partitions": (
        {"tasks": [{"name": "a", "replicas": 6, "partitionPolicy": {"partitionSize": 2, "minPartitions": 1}}]},
        {"minAvailable": 2, "tasks": [{"name": "a", "replicas": 6, "minAvailable": 2, "maxRetry": 3,
                                       "partitionPolicy": {"partitionSize": 2, "minPartitions": 1}}]},
    ),
    "host network": (
        {"tasks": [{"name": "a", "template": {"spec": {"hostNetwork": True}}}]},
        {"tasks": [{"name": "a", "minAvailable": 0, "maxRetry": 3,
                    "template": {"spec": {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}}}]},
    ),
    "required plugins": ({"plugins": {"tensorflow": []}}, {"plugins": {"tensorflow": [], "svc": []}}),
    "values of wrong types": (
        {"queue": [], "schedulerName": 0, "tasks": [3], "plugins": []},
        {"queue": [], "schedulerName": 0, "tasks": [3], "plugins": []},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults_of_a_job(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    fill_in_spec(spec, required, queue="q", scheduler="volcano")
    assert {"queue": "q", "schedulerName": "volcano", "maxRetry": 3, **expected} == spec
    again = dict(spec)
    fill_in_spec(again, required, queue="q", scheduler="volcano")
    assert again == spec
