"""Recorded users: who is written to which annotation, and who may name another user."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stromboli import kube
from stromboli.admission.access.users import check_user
from stromboli.admission.configuration import Webhooks, webhook_documents
from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.requests import User
from stromboli.admission.review import review
from stromboli.kube.objects.kinds import as_type
from stromboli.local.patching.patches import json_patch
from tests.unit.admission.requests import ADMINISTRATOR, ALICE, CONTROLLER, FACTS, POLICY, Document, pod, request

RECORDING = AdmissionPolicy(records_users=True, without=frozenset(("authorisation",)))
USER = "stromboli.dev/user"
JOB: Document = {"spec": {"template": {"spec": {"schedulerName": "stromboli", "containers": [{"name": "main"}]}}}}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "u", "controller": True}


def named(document: Document, user: str, *path: str) -> Document:
    """Return a copy that names a user in the metadata of a part."""
    copy = {**document}
    place: Any = copy
    for name in (*path, "metadata", "annotations"):
        place[name] = {**place.get(name, {})}
        place = place[name]
    place[USER] = user
    return copy


def templated(metadata: object) -> Document:
    return {"spec": {"template": {**JOB["spec"]["template"], "metadata": metadata}}}


def found(kind: str, document: Document, user: User, *path: str, policy: AdmissionPolicy = RECORDING) -> str | None:
    """Return the user that a created object names."""
    asked = request(kind, document, user=user)
    assert asked.object is not None
    place: Any = json_patch(asked.object, patch_for(asked, FACTS, policy))
    for name in (*path, "metadata", "annotations"):
        place = place.get(name) or {}
    user_name: str | None = place.get(USER)
    return user_name


SERVICE = User("system:serviceaccount:team:runner", groups=["system:serviceaccounts", "system:serviceaccounts:team"])
TEMPLATE = ("spec", "template")
CREATED = [
    pytest.param("Pod", pod(), ALICE, (), "alice", id="pod"),
    pytest.param("PodGroup", {"spec": {"minMember": 1}}, ALICE, (), "alice", id="group"),
    pytest.param("Job", JOB, ALICE, TEMPLATE, "alice", id="pods of a job"),
    pytest.param("Job", named(JOB, "bob", *TEMPLATE), ALICE, TEMPLATE, "alice", id="another user is replaced"),
    pytest.param("Job", templated(None), ALICE, TEMPLATE, "alice", id="metadata that is null"),
    pytest.param("Job", templated({"annotations": None}), ALICE, TEMPLATE, "alice", id="annotations that are null"),
    pytest.param("Pod", named(pod(), "bob"), CONTROLLER, (), "bob", id="controllers keep what they copy"),
    pytest.param("Pod", named(pod(), "bob"), ADMINISTRATOR, (), "bob", id="administrators act for others"),
    pytest.param("Pod", {**pod(), "metadata": {"ownerReferences": [OWNER]}}, ALICE, (), "alice", id="owned pod"),
    pytest.param("Pod", pod(), SERVICE, (), SERVICE.username, id="a service account"),
]


@pytest.mark.parametrize(("kind", "document", "user", "path", "expected"), CREATED)
def test_created_object_names_its_creator(
    kind: str, document: Document, user: User, path: tuple[str, ...], expected: str | None
) -> None:
    assert found(kind, document, user, *path) == expected


def test_users_are_not_recorded_by_default() -> None:
    assert found("Pod", pod(), ALICE, policy=POLICY) is None


@pytest.mark.parametrize("annotations", [["user"], "user", 7])
def test_annotations_of_another_type_are_reported(annotations: object) -> None:
    asked = request("Job", templated({"annotations": annotations}), user=ALICE)
    assert patch_for(asked, FACTS, RECORDING) == []
    (violation,) = review(asked, FACTS, RECORDING).violations
    assert violation.message.startswith("spec.template.metadata.annotations: expected a map")


def test_an_invalid_template_can_be_repaired() -> None:
    repaired = named(JOB, "alice", *TEMPLATE)
    asked = request("Job", repaired, before=templated({"annotations": ["user"]}), user=ALICE)
    assert review(asked, FACTS, RECORDING).is_allowed


REJECTED = [
    pytest.param("Pod", named(pod(), "bob"), None, ALICE, False, id="another user"),
    pytest.param("Pod", named(pod(), "alice"), None, ALICE, True, id="its own"),
    pytest.param("Pod", named(pod(), "bob"), named(pod(), "alice"), ALICE, False, id="a changed user"),
    pytest.param("Pod", pod(), named(pod(), "alice"), ALICE, False, id="a removed user"),
    pytest.param("Pod", named(pod(), "bob"), named(pod(), "bob"), ALICE, True, id="an unchanged user"),
    pytest.param("Pod", named(pod(), "bob"), pod(), ADMINISTRATOR, True, id="administrators change users"),
    pytest.param("Pod", named(pod(), "alice"), pod(), ALICE, True, id="its own where none was named"),
    pytest.param("Job", named(JOB, "bob", *TEMPLATE), None, ALICE, False, id="another user of a job"),
    pytest.param("Job", named(JOB, "bob"), None, ALICE, False, id="another user of the owner of pods"),
    pytest.param("Job", named(JOB, "bob"), JOB, ALICE, False, id="another user of the owner, later"),
]
LABELLED = [
    pytest.param({USER: "bob"}, False, id="another user"),
    pytest.param({USER: "alice"}, True, id="its own"),
]


@pytest.mark.parametrize(("labels", "is_allowed"), LABELLED)
def test_labels_do_not_name_another_user(labels: dict[str, str], is_allowed: bool) -> None:
    verdict = review(request("Pod", pod(labels=labels), user=ALICE), FACTS, RECORDING)
    assert verdict.is_allowed is is_allowed
    assert is_allowed or f"labels[{USER}]" in verdict.message


IN_GROUP = pod(group="gang")
JOINING = [
    pytest.param(None, IN_GROUP, ALICE, "alice", True, id="its own group"),
    pytest.param(None, IN_GROUP, ALICE, "", True, id="a group without a user"),
    pytest.param(None, IN_GROUP, ALICE, "bob", False, id="the group of another user"),
    pytest.param(pod(), IN_GROUP, ALICE, "bob", False, id="the group of another user, later"),
    pytest.param(IN_GROUP, IN_GROUP, ALICE, "bob", True, id="a group that it has joined before"),
    pytest.param(None, IN_GROUP, SERVICE, "bob", True, id="a service account of the namespace, as that of a driver"),
    pytest.param(None, IN_GROUP, User("system:serviceaccount:lab:a"), "bob", False, id="of another"),
    pytest.param(None, IN_GROUP, CONTROLLER, "bob", True, id="a controller"),
]


@pytest.mark.parametrize(("before", "document", "user", "owner", "is_allowed"), JOINING)
def test_pods_join_no_group_of_another_user(
    before: Document | None, document: Document, user: User, owner: str, is_allowed: bool
) -> None:
    group = as_type({"metadata": {"name": "gang", "namespace": "team", "annotations": {USER: owner}}}, kube.PodGroup)
    asked = request("Pod", document, before=before, user=user)
    verdict = check_user(asked, replace(FACTS, groups={"team/gang": group}), RECORDING)
    assert verdict.is_allowed is is_allowed, verdict.message


def test_workload_of_another_scheduler_names_its_user_as_soon_as_it_is_scheduled_here() -> None:
    other: Document = {"spec": {"template": {"spec": {"schedulerName": "other", "containers": [{"name": "main"}]}}}}
    anonymous = review(request("Deployment", JOB, before=other, user=ALICE), FACTS, RECORDING)
    assert "write alice" in anonymous.message
    named_itself = request("Deployment", named(JOB, "alice", *TEMPLATE), before=other, user=ALICE)
    assert review(named_itself, FACTS, RECORDING).is_allowed


@pytest.mark.parametrize(("kind", "document", "before", "user", "is_allowed"), REJECTED)
def test_only_those_who_act_for_others_name_another_user(
    kind: str, document: Document, before: Document | None, user: User, is_allowed: bool
) -> None:
    asked = request(kind, document, before=before, user=user)
    verdict = review(asked, FACTS, RECORDING)
    assert verdict.is_allowed is is_allowed, verdict.message
    if not is_allowed:
        assert f"annotations[{USER}]" in verdict.message
    assert review(asked, FACTS, replace(RECORDING, records_users=False)).is_allowed


def test_workloads_are_sent_for_their_user_only_where_it_is_recorded() -> None:
    names = [
        {entry["name"].partition(".")[0] for entry in webhook_documents(Webhooks(records_users=is_on))[0]["webhooks"]}
        for is_on in (False, True)
    ]
    assert names[1] - names[0] == {"workloads", "cronjobs", "volcanorunners"}
