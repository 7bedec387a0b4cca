"""With recorded users, the scheduler charges the pods of every accepted workload to its creator.

All kinds, all metadata of each, annotations and labels; at the creation and by any later change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.admission.access.users import places_of
from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import AUTHORISATION
from stromboli.admission.requests import User
from stromboli.admission.review import review
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.kinds import as_type
from stromboli.kube.objects.pod_owners import POD_OWNERS
from stromboli.local.patching.patches import json_patch
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.created_jobs import job_of_cron_job, job_of_flow
from stromboli.workloads.families.volcano.groups import group_of
from stromboli.workloads.families.volcano.tasks import pods_of_task, tasks_of
from stromboli.workloads.families.volcano.templates import CRON_JOB, JOB_FLOW
from stromboli.workloads.plain_groups import group_for
from stromboli.workloads.templates import VOLCANO_JOB, WORKLOADS, Kind
from stromboli.workloads.users import USER, named_user, user_of
from tests.unit.admission.requests import ALICE, FACTS, POLICY, Document, pod, request

RECORDING = replace(POLICY, records_users=True, without=frozenset((AUTHORISATION,)))
GROUPS: tuple[Kind, ...] = ((volcano.GROUP, "PodGroup"), (native.GROUP, "PodGroup"))
KINDS: tuple[Kind, ...] = (*WORKLOADS, VOLCANO_JOB, CRON_JOB, JOB_FLOW, *GROUPS, ("", "Pod"))
NAMED = st.dictionaries(st.just(USER), st.sampled_from(["alice", "bob", "carol"]))
METADATA = st.fixed_dictionaries({"annotations": NAMED, "labels": NAMED})
PLACES = st.tuples(METADATA, METADATA, METADATA)
BOB = User("bob", groups=["system:authenticated"])
_NOTHING: Document = {"annotations": {}, "labels": {}}
TEMPLATES = {"team/etl": {"tasks": [{"name": "main", "replicas": 1, "template": pod()}]}}

Places = tuple[Document, Document, Document]


def workload(kind: Kind, places: Places) -> Document:
    """A workload of this kind, with this metadata, that of its job template, and that of its pod template."""
    owner, between, template = places
    made = {**pod(), "metadata": template}
    job = {"tasks": [{"name": "main", "replicas": 1, "template": made}], "minAvailable": 1, "queue": "default"}
    match kind:
        case ("", "Pod"):
            return {**pod(), "metadata": owner}
        case group if group in GROUPS:
            spec = {"schedulingPolicy": {"gang": {"minCount": 1}}} if kind[0] == native.GROUP else {"minMember": 1}
            return {"metadata": owner, "spec": spec}
        case each if each == VOLCANO_JOB:
            return {"metadata": owner, "spec": job}
        case each if each == CRON_JOB:
            return {
                "metadata": owner,
                "spec": {"schedule": "@daily", "jobTemplate": {"metadata": between, "spec": job}},
            }
        case each if each == JOB_FLOW:
            return {"metadata": owner, "spec": {"flows": [{"name": "etl"}]}}
        case (_, "CronJob"):
            return {"metadata": owner, "spec": {"jobTemplate": {"metadata": between, "spec": {"template": made}}}}
    return {"metadata": owner, "spec": {"template": made}}


def charged(kind: Kind, document: Document) -> str:
    """The user that the scheduler reads, after the controllers of the kind have made pods and group."""
    placed = {**document, "metadata": {"name": "a", "namespace": "team", **document["metadata"]}}
    if kind in GROUPS:
        return user_of(as_type({"metadata": placed["metadata"]}, kube.Pod).metadata)
    if kind[0] in (CRON_JOB[0], JOB_FLOW[0]):
        return _of_volcano_job(kind, WorkloadDocument(placed))
    if kind == ("", "Pod"):
        return _of_plain(as_type(placed, kube.Pod), {})
    spec, owner = document["spec"], document
    if kind[1] == "CronJob":
        owner = spec["jobTemplate"]
        spec = owner["spec"]
    inherits = {"Deployment", "CronJob"} | {resource.kind for resource in POD_OWNERS}
    template = spec["template"]["metadata"]
    member = as_type({**pod(), "metadata": {"name": "a", "namespace": "team", **template}}, kube.Pod)
    return _of_plain(member, (owner["metadata"].get("annotations") or {}) if kind[1] in inherits else {})


def _of_plain(member: kube.Pod, inherited: dict[str, str]) -> str:
    return user_of(group_for(member, inherited).metadata, [*filter(None, [named_user(member.metadata)])])


def _of_volcano_job(kind: Kind, document: WorkloadDocument) -> str:
    job = document
    if kind == CRON_JOB:
        job = job_of_cron_job(document, "a")
    elif kind == JOB_FLOW:
        job = job_of_flow(document, 0, TEMPLATES["team/etl"])
    group: Any = as_type({"metadata": group_of(job)["metadata"]}, kube.Pod)
    pods = [as_type(each, kube.Pod) for task in tasks_of(job) for each in pods_of_task(job, task, (0,))]
    return user_of(group.metadata, [user for each in pods if (user := named_user(each.metadata))])


def created(kind: Kind, places: Places) -> Document | None:
    """What the API server stores when alice creates the workload; None if the webhook rejects it."""
    facts = replace(FACTS, job_templates=TEMPLATES)
    asked = request(kind[1], workload(kind, places), user=ALICE, group=kind[0])
    assert asked.object is not None
    stored: Document = json_patch(asked.object, patch_for(asked, facts, RECORDING))
    verdict = review(request(kind[1], stored, user=ALICE, group=kind[0]), facts, RECORDING)
    if not verdict.is_allowed:
        assert USER in verdict.message, verdict.message
    return stored if verdict.is_allowed else None


@given(kind=st.sampled_from(KINDS), places=PLACES)
def test_accepted_workload_is_charged_to_its_creator(kind: Kind, places: Places) -> None:
    stored = created(kind, places)
    if stored is not None:
        assert charged(kind, stored) == "alice"


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
def test_workload_without_a_named_user_is_accepted(kind: Kind) -> None:
    stored = created(kind, (_NOTHING, _NOTHING, _NOTHING))
    assert stored is not None
    assert charged(kind, stored) == "alice"
    assert any(place.is_recorded for place in places_of(kind))


@given(kind=st.sampled_from(KINDS), changed=PLACES, user=st.sampled_from([ALICE, BOB]))
def test_accepted_change_leaves_the_user(kind: Kind, changed: Places, user: User) -> None:
    stored = created(kind, (_NOTHING, _NOTHING, _NOTHING))
    assert stored is not None
    after = workload(kind, changed)
    verdict = review(
        request(kind[1], after, before=stored, user=user, group=kind[0]),
        replace(FACTS, job_templates=TEMPLATES), RECORDING,
    )  # fmt: skip
    if verdict.is_allowed:
        assert charged(kind, after) == "alice"
