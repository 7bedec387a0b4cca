"""Recorded users: who is written to which annotation, and who may name another user."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stromboli.admission.configuration import Webhooks, webhook_documents
from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.requests import User
from stromboli.admission.review import review
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


def found(kind: str, document: Document, user: User, *path: str, policy: AdmissionPolicy = RECORDING) -> str | None:
    """Return the user that a created object names."""
    asked = request(kind, document, user=user)
    assert asked.object is not None
    place: Any = json_patch(asked.object, patch_for(asked, FACTS, policy))
    for name in (*path, "metadata", "annotations"):
        place = place.get(name) or {}
    user_name: str | None = place.get(USER)
    return user_name


TEMPLATE = ("spec", "template")
CREATED = [
    pytest.param("Pod", pod(), ALICE, (), "alice", id="pod"),
    pytest.param("PodGroup", {"spec": {"minMember": 1}}, ALICE, (), "alice", id="group"),
    pytest.param("Job", JOB, ALICE, TEMPLATE, "alice", id="pods of a job"),
    pytest.param("Job", named(JOB, "bob", *TEMPLATE), ALICE, TEMPLATE, "alice", id="another user is replaced"),
    pytest.param("Pod", named(pod(), "bob"), CONTROLLER, (), "bob", id="controllers keep what they copy"),
    pytest.param("Pod", named(pod(), "bob"), ADMINISTRATOR, (), "bob", id="administrators act for others"),
    pytest.param("Pod", {**pod(), "metadata": {"ownerReferences": [OWNER]}}, ALICE, (), None, id="pod of a controller"),
]


@pytest.mark.parametrize(("kind", "document", "user", "path", "expected"), CREATED)
def test_created_object_names_its_creator(
    kind: str, document: Document, user: User, path: tuple[str, ...], expected: str | None
) -> None:
    assert found(kind, document, user, *path) == expected


def test_users_are_not_recorded_by_default() -> None:
    assert found("Pod", pod(), ALICE, policy=POLICY) is None


REJECTED = [
    pytest.param("Pod", named(pod(), "bob"), None, ALICE, False, id="another user"),
    pytest.param("Pod", named(pod(), "alice"), None, ALICE, True, id="its own"),
    pytest.param("Pod", named(pod(), "bob"), named(pod(), "alice"), ALICE, False, id="a changed user"),
    pytest.param("Pod", pod(), named(pod(), "alice"), ALICE, False, id="a removed user"),
    pytest.param("Pod", named(pod(), "bob"), named(pod(), "bob"), ALICE, True, id="an unchanged user"),
    pytest.param("Pod", named(pod(), "bob"), pod(), ADMINISTRATOR, True, id="administrators change users"),
    pytest.param("Job", named(JOB, "bob", *TEMPLATE), None, ALICE, False, id="another user of a job"),
]


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
    assert names[1] - names[0] == {"workloads", "cronjobs"}
