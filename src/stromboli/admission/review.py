"""Selection of the rules for a request, and their combined verdict.

Violations that the old object already had do not block an unrelated change, and objects that are being deleted are not
validated: a new rule must never block a deletion. Their finalizers may change, but nothing that scheduling depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from stromboli import kube
from stromboli.admission.access.users import check_user
from stromboli.admission.deletion import review_change_of_deleted
from stromboli.admission.facts import AUTHORISATION, AdmissionPolicy, Facts
from stromboli.admission.pod_groups import validate_pod_group, validate_pod_group_change
from stromboli.admission.pods import validate_pod, validate_pod_change
from stromboli.admission.queues import review_deletion, review_queue
from stromboli.admission.requests import Document, Request
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, refused
from stromboli.admission.volcano_jobs import (
    VOLCANO_WORKLOADS,
    review_command,
    validate_job_update,
    validate_volcano_workload,
)
from stromboli.admission.workloads import validate_workload, validate_workload_change
from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.cluster.objects.topology.hypernodes import chosen_by, fault_of
from stromboli.cluster.objects.topology.topologies import levels_of
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.kinds import as_type
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology
from stromboli.kube.objects.volcano_jobs import BUS_GROUP
from stromboli.workloads.families.volcano.templates import volcano_templates_of
from stromboli.workloads.groups import controlling_owner
from stromboli.workloads.templates import (
    VOLCANO_JOB,
    WORKLOADS,
    WorkloadTemplate,
    is_workload,
    kind_of,
    templates_of,
)

T = TypeVar("T", bound=TopLevel)


def review(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Review a request. Objects of unknown kinds are allowed."""
    rule = _RULES.get((request.kind.group, request.kind.kind))
    if rule is None or request.sub_resource or request.operation not in _OPERATIONS:
        return GOOD
    if _is_being_deleted(request):
        return replace(review_change_of_deleted(request, policy), subject=subject_of(request))
    try:
        own = policy_for(request, policy)
        verdict = rule(request, facts, own).plus(check_user(request, facts, own))
    except ObjectError as error:
        message = (
            f"{error.field}: {error.message}; {error.remedy}" if error.field else f"{error.message}; {error.remedy}"
        )
        verdict = refused(Violation(message))
    return replace(verdict, subject=subject_of(request))


def policy_for(request: Request, policy: AdmissionPolicy) -> AdmissionPolicy:
    """Controllers create objects for others. They are trusted only if the owner of a new object is of a kind that was
    reviewed itself: otherwise the user who made the owner was never checked, and the controller's own rights count.
    """
    if request.operation != "CREATE" or not policy.is_controller(request.user_info):
        return policy
    try:
        references = as_type({"metadata": request.document.get("metadata") or {}}, kube.Pod)
    except ObjectError:
        return policy.without_controllers()
    owner = controlling_owner(references)
    return policy if owner is not None and is_workload(kind_of(owner)) else policy.without_controllers()


def subject_of(request: Request) -> str:
    """Kind and name for messages; for a generated name, its prefix."""
    metadata = _metadata(request.document)
    name = request.name or metadata.get("name") or f"{metadata.get('generateName') or ''}*"
    return f"{request.kind.kind} {request.namespace}/{name}" if request.namespace else f"{request.kind.kind} {name}"


def typed(request: Request, document: Document, kind: type[T]) -> T:
    """Decode the object in the namespace of the request. Raises ObjectError."""
    found = as_type(document, kind)
    found.metadata.namespace = request.namespace
    found.metadata.name = found.metadata.name or request.name
    return found


def _old(request: Request) -> Document | None:
    return request.old_object if request.operation == "UPDATE" else None


def _is_being_deleted(request: Request) -> bool:
    """Report whether the object is being deleted already."""
    return request.operation == "UPDATE" and bool(_metadata(request.document).get("deletionTimestamp"))


def _metadata(document: Document) -> Mapping[str, object]:
    found = document.get("metadata")
    return found if isinstance(found, Mapping) else {}


# -- by kind ----------------------------------------------------------------------------------------------------------


def new_group(request: Request) -> kube.PodGroup | None:
    """The group that a request creates, of either kind."""
    kind = request.kind
    is_new = request.operation == "CREATE" and kind.kind == "PodGroup" and kind.group in (volcano.GROUP, native.GROUP)
    return _group_in(request, request.document) if is_new else None


def _group_in(request: Request, document: Document) -> kube.PodGroup:
    if request.kind.group == native.GROUP:
        return as_group(typed(request, document, native.NativePodGroup))
    return typed(request, document, volcano.PodGroup)


def _pod_group(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    group = _group_in(request, request.document)
    before = _decode_or_none(_old(request), lambda document: _group_in(request, document))
    sense = validate_pod_group(group, facts, policy)
    if before is not None:
        sense = sense.without_old(validate_pod_group(before, facts, policy))
    return sense.plus(validate_pod_group_change(before, group, request.user_info, facts, policy))


def _queue(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return review_deletion(request.name, facts, policy)
    verdict = review_queue(typed(request, request.document, kube.KubeQueue), facts)
    before = _decode_or_none(_old(request), lambda document: typed(request, document, kube.KubeQueue))
    return verdict if before is None else verdict.without_old(review_queue(before, facts))


def _alone(request: Request, kind: type[T], rule: Callable[[T], AdmissionVerdict]) -> AdmissionVerdict:
    """Review an object by itself."""
    if request.operation == "DELETE":
        return GOOD
    verdict = rule(typed(request, request.document, kind))
    before = _decode_or_none(_old(request), lambda document: typed(request, document, kind))
    return verdict if before is None else verdict.without_old(rule(before))


def _pod(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    pod = typed(request, request.document, kube.Pod)
    sense, old = validate_pod(pod, request.document, policy), _old(request)
    before = _decode_or_none(old, lambda document: typed(request, document, kube.Pod))
    if before is not None:
        sense = sense.without_old(validate_pod(before, old or {}, policy))
    return sense.plus(validate_pod_change(before, pod, request.user_info, facts, policy))


def _workload(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    kind = (request.kind.group, request.kind.kind)
    return _review_templates(request, facts, policy, lambda document: templates_of(kind, document))


def _volcano_workload(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    kind, old = (request.kind.group, request.kind.kind), _old(request)
    document, plugins = _placed(request, request.document), policy.job_plugins
    verdict = validate_volcano_workload(kind, document, plugins)
    if old is not None:
        verdict = verdict.without_old(validate_volcano_workload(kind, _placed(request, old), plugins))
        if kind == VOLCANO_JOB:
            verdict = verdict.plus(validate_job_update(old, document, plugins))
    if not verdict.is_allowed:
        return verdict
    specs = facts.job_templates.get
    return verdict.plus(_review_templates(request, facts, policy, lambda each: volcano_templates_of(kind, each, specs)))


def _command(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    verdict = review_command(request.document)
    return verdict if policy.checks(AUTHORISATION, request.user_info) else replace(verdict, uses=())


def _review_templates(
    request: Request, facts: Facts, policy: AdmissionPolicy, read: Callable[[Document], list[WorkloadTemplate]]
) -> AdmissionVerdict:
    before = _decode_or_none(_old(request), lambda document: read(_placed(request, document))) or []
    verdict, templates = GOOD, read(_placed(request, request.document))
    for place, template in enumerate(templates):
        was = before[place] if place < len(before) else None
        sense = validate_workload(template, policy)
        sense = sense if was is None else sense.without_old(validate_workload(was, policy))
        verdict = verdict.plus(sense, validate_workload_change(was, template, request.user_info, facts, policy))
    return verdict


def _placed(request: Request, document: Document) -> Document:
    return {**document, "metadata": {**_metadata(document), "namespace": request.namespace}}


V = TypeVar("V")


def _decode_or_none(document: Document | None, read: Callable[[Document], V]) -> V | None:
    """Decode the old object; an unreadable one counts as absent."""
    if document is None:
        return None
    try:
        return read(document)
    except ObjectError:
        return None


_OPERATIONS = ("CREATE", "UPDATE", "DELETE")
_RULES: dict[tuple[str, str], Callable[[Request, Facts, AdmissionPolicy], AdmissionVerdict]] = {
    (volcano.GROUP, "PodGroup"): _pod_group,
    (native.GROUP, "PodGroup"): _pod_group,
    (volcano.GROUP, "Queue"): _queue,
    (KubeHyperNode.group, "HyperNode"): lambda request, *_: _alone(request, KubeHyperNode, review_hyper_node),
    (KubeTopology.group, "Topology"): lambda request, *_: _alone(request, KubeTopology, review_topology),
    ("", "Pod"): _pod,
    (BUS_GROUP, "Command"): _command,
    **dict.fromkeys(VOLCANO_WORKLOADS, _volcano_workload),
    **dict.fromkeys(WORKLOADS, _workload),
}


def review_hyper_node(hyper_node: KubeHyperNode) -> AdmissionVerdict:
    violations = [violation for violation in (fault_of(hyper_node), *_member_faults(hyper_node)) if violation]
    return refused(*(Violation(violation) for violation in violations)) if violations else GOOD


def review_topology(topology: KubeTopology) -> AdmissionVerdict:
    try:
        levels_of(topology)
    except ValueError as error:
        return refused(Violation(str(error)))
    return GOOD


def _member_faults(hyper_node: KubeHyperNode) -> Iterator[str]:
    for place, member in enumerate(hyper_node.spec.members or ()):
        try:
            chosen_by(member)
        except ValueError as error:
            yield f"spec.members[{place}]{error}"
