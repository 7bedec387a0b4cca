"""A tenant is charged for its pods, whatever its objects name, with Kubernetes' own controllers in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stromboli import kube
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.users import USER, named_user, user_of
from testbed.assets import NoAssets
from testbed.plane import ControlPlane
from tests.e2e.environment.webhook import Document
from tests.e2e.tenancy.tenants import (
    GROUP_NAME,
    NAMESPACE,
    RBAC,
    Tenants,
    group,
    named,
    pod,
    pod_template,
    running_tenants,
    workload,
)

pytestmark = pytest.mark.only("real", because="the embedded server asks no webhooks")

RUNNER = f"system:serviceaccount:{NAMESPACE}:runner"
_KINDS = {"batch.volcano.sh": ["jobs", "cronjobs"], "flow.volcano.sh": ["jobflows", "jobtemplates"]}
_ROLE = "tenants-test-volcano-jobs"
#: CronJobs create a job at the next minute.
_WAIT = 100.0
RIGHTS = [
    named("ClusterRole", f"{RBAC}/v1", _ROLE, rules=[
        {"apiGroups": [api], "resources": resources, "verbs": ["*"]} for api, resources in _KINDS.items()]),
    *(named("RoleBinding", f"{RBAC}/v1", f"recorded-{role}",
            roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            subjects=[{"apiGroup": RBAC, "kind": "User", "name": name} for name in ("bob", RUNNER)])
      for role in (_ROLE, "edit")),
]  # fmt: skip


@pytest.fixture(scope="module")
def tenants(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    try:
        with running_tenants(plane, tmp_path_factory.mktemp("recorded"), records_users=True) as made:
            rights = json.dumps({"apiVersion": "v1", "kind": "List", "items": RIGHTS})
            assert made.webhook.kubectl("apply", "-f", "-", stdin=rights).returncode == 0
            yield made
    except NoAssets as missing:
        pytest.skip(str(missing))


def volcano_job(name: str, metadata: Document, template: Document) -> Document:
    tasks = [{"name": "main", "replicas": 1, "template": template}]
    spec = {"minAvailable": 1, "schedulerName": "volcano", "queue": "default", "tasks": tasks}
    return named("Job", "batch.volcano.sh/v1alpha1", name, metadata=metadata, spec=spec)


def everywhere(kind: str, name: str, entries: Document) -> Document:
    """A workload that has these annotations in all its metadata."""
    template = pod_template(annotations=dict(entries))
    if kind == "Pod":
        return pod(name, annotations=dict(entries))
    if kind == "VolcanoJob":
        return volcano_job(name, {"annotations": dict(entries)}, template)
    if kind in ("CronJob", "VolcanoCronJob"):
        job = (
            volcano_job(name, {"annotations": dict(entries)}, template) if kind == "VolcanoCronJob"
            else workload("Job", template, annotations=dict(entries))
        )  # fmt: skip
        version = "batch.volcano.sh/v1alpha1" if kind == "VolcanoCronJob" else "batch/v1"
        spec = {
            "schedule": "* * * * *",
            "jobTemplate": {"metadata": {"annotations": dict(entries)}, "spec": job["spec"]},
        }
        return named("CronJob", version, name, metadata={"annotations": dict(entries)}, spec=spec)
    return workload(kind, template, name=name, annotations=dict(entries))


def charged(tenants: Tenants, prefix: str) -> set[str]:
    """The users of jobs whose pods or groups have such names. Volcano Jobs have no pods before they are admitted."""
    groups: dict[str, Any] = {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": as_type({"metadata": each["metadata"]}, kube.Pod)
        for each in tenants.found("podgroups.scheduling.volcano.sh")
    }
    pods = [as_type(each, kube.Pod) for each in tenants.found("pods")]
    jobs = {job_key_of(each) or "" for each in pods if each.metadata.name.startswith(prefix)}
    jobs |= {key for key in groups if key.partition("/")[2].startswith(prefix)}
    return {user_of(groups[key].metadata, _named_by(pods, key)) for key in jobs if key in groups}


def _named_by(pods: list[kube.Pod], job: str) -> list[str]:
    return [user for each in pods if job_key_of(each) == job and (user := named_user(each.metadata))]


CHAINS = ["Pod", "Job", "Deployment", "CronJob", "VolcanoJob", "VolcanoCronJob"]
CREATORS = {"user": "bob", "service account": RUNNER}


def own_name(kind: str, creator: str) -> str:
    return f"{kind.lower()}-{'bob' if creator == 'user' else 'runner'}"


@pytest.fixture(scope="module")
def refusals(tenants: Tenants) -> dict[str, str]:
    """Why workloads that name no user, and those that name another one, are rejected, by name; empty for those created.

    All are created before the first test waits: CronJobs create a job at the next minute.
    """
    found = {f"spoof-{kind.lower()}": tenants.refusal(everywhere(kind, f"spoof-{kind.lower()}", {USER: "ana"}))
             for kind in CHAINS}  # fmt: skip
    for kind in CHAINS:
        for creator, user in CREATORS.items():
            name = own_name(kind, creator)
            found[name] = tenants.refusal(everywhere(kind, name, {}), user=user)
    return found


@pytest.mark.parametrize("creator", CREATORS)
@pytest.mark.parametrize("kind", CHAINS)
def test_pods_of_a_chain_of_controllers_are_charged_to_its_creator(
    tenants: Tenants, refusals: dict[str, str], kind: str, creator: str
) -> None:
    name, user = own_name(kind, creator), CREATORS[creator]
    assert refusals[name] == ""
    tenants.webhook.wait(lambda: charged(tenants, name) == {user}, f"pods of {name} are charged to {user}", _WAIT)
    if "CronJob" in kind:
        tenants.delete("cronjobs.batch.volcano.sh" if kind.startswith("Volcano") else "cronjobs.batch", name)


@pytest.mark.parametrize("kind", CHAINS)
def test_another_user_is_neither_charged_by_a_new_object_nor_by_a_change(
    tenants: Tenants, refusals: dict[str, str], kind: str
) -> None:
    name = f"spoof-{kind.lower()}"
    if not refusals[name]:  # every place that counts was rewritten
        tenants.webhook.wait(lambda: charged(tenants, name) == {"bob"}, f"pods of {name} are charged to bob", _WAIT)
    else:
        assert USER in refusals[name]
        assert tenants.refusal(everywhere(kind, name, {})) == ""
    resource = {"VolcanoJob": "jobs.batch.volcano.sh", "VolcanoCronJob": "cronjobs.batch.volcano.sh"}.get(kind, kind)
    path = {
        "Pod": (), "VolcanoJob": (), "CronJob": ("spec", "jobTemplate", "spec", "template"),
        "VolcanoCronJob": ("spec", "jobTemplate"),
    }.get(kind, ("spec", "template"))  # fmt: skip
    for place in {path, ()} if kind not in ("CronJob", "VolcanoCronJob") else {path}:
        patch: Document = {"metadata": {"annotations": {USER: "ana"}}}
        for step in reversed(place):
            patch = {step: patch}
        message = tenants.patch(resource, name, patch)
        assert USER in message, (place, message)
    tenants.delete(resource, name)


def test_label_and_group_of_another_user_are_rejected(tenants: Tenants) -> None:
    assert "labels[stromboli.dev/user]" in tenants.refusal(pod("labelled", labels={USER: "ana"}))
    assert tenants.refusal(group("anas", queue="default"), user="") == ""
    tenants.webhook.kubectl(
        f"--namespace={NAMESPACE}", "annotate", "podgroups.scheduling.volcano.sh", "anas", f"{USER}=ana"
    )
    joined = pod("joined", annotations={GROUP_NAME: "anas"})
    tenants.webhook.wait(
        lambda: "the group is that of user 'ana'" in tenants.webhook.error_of(joined, user="bob"),
        "the webhook reads it",
    )
