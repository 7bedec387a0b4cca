"""The verdict on a request: which rules hold for an object, and what they say.

What was wrong with an object before is let be when something else about it changes, and whoever is on the way out is
let go: a rule that came later must never hold up the end of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from stromboli import kube
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.pod_groups import validate_pod_group, validate_pod_group_change
from stromboli.admission.pods import validate_pod, validate_pod_change
from stromboli.admission.queues import review_deletion, review_queue
from stromboli.admission.requests import Document, Request
from stromboli.admission.topology import review_hyper_node, review_topology
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, refused
from stromboli.admission.workloads import (
    VOLCANO_JOB,
    WORKLOADS,
    templates_of,
    validate_workload,
    validate_workload_change,
)
from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.kinds import as_type
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology

T = TypeVar("T", bound=TopLevel)


def review(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    """What is wrong with a request. An object of a kind that nothing is known about is allowed."""
    rule = _RULES.get((request.kind.group, request.kind.kind))
    if rule is None or request.sub_resource or request.operation not in _OPERATIONS or _is_going(request):
        return GOOD
    try:
        verdict = rule(request, facts, terms)
    except ObjectError as error:
        words = f"{error.field}: {error.message}; {error.remedy}" if error.field else f"{error.message}; {error.remedy}"
        verdict = refused(Violation(words))
    return replace(verdict, subject=subject_of(request))


def subject_of(request: Request) -> str:
    """Kind and name for messages. An object whose name is yet to be made is called by its beginning."""
    metadata = _metadata(request.document)
    name = request.name or metadata.get("name") or f"{metadata.get('generateName') or ''}*"
    return f"{request.kind.kind} {request.namespace}/{name}" if request.namespace else f"{request.kind.kind} {name}"


def typed(request: Request, document: Document, kind: type[T]) -> T:
    """The object in the namespace of the request. Raises ObjectError."""
    found = as_type(document, kind)
    found.metadata.namespace = request.namespace
    found.metadata.name = found.metadata.name or request.name
    return found


def _before(request: Request) -> Document | None:
    return request.old_object if request.operation == "UPDATE" else None


def _is_going(request: Request) -> bool:
    """Whether the object is being deleted already, and only its finalizers are seen to."""
    return request.operation == "UPDATE" and bool(_metadata(request.document).get("deletionTimestamp"))


def _metadata(document: Document) -> Mapping[str, object]:
    found = document.get("metadata")
    return found if isinstance(found, Mapping) else {}


# -- by kind ----------------------------------------------------------------------------------------------------------


def _pod_group(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    return _any_group(request, facts, terms, lambda document: typed(request, document, volcano.PodGroup))


def _native_group(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    return _any_group(request, facts, terms, lambda document: as_group(typed(request, document, native.NativePodGroup)))


def _any_group(
    request: Request, facts: Facts, terms: AdmissionPolicy, read: Callable[[Document], kube.PodGroup]
) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    group, before = read(request.document), _known(_before(request), read)
    sense = validate_pod_group(group, facts, terms)
    if before is not None:
        sense = sense.beyond(validate_pod_group(before, facts, terms))
    return sense.plus(validate_pod_group_change(before, group, request.user_info, facts, terms))


def _queue(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return review_deletion(request.name, facts, terms)
    verdict = review_queue(typed(request, request.document, kube.KubeQueue), facts)
    before = _known(_before(request), lambda document: typed(request, document, kube.KubeQueue))
    return verdict if before is None else verdict.beyond(review_queue(before, facts))


def _hyper_node(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    return _alone(request, KubeHyperNode, review_hyper_node)


def _topology(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    return _alone(request, KubeTopology, review_topology)


def _alone(request: Request, kind: type[T], rule: Callable[[T], AdmissionVerdict]) -> AdmissionVerdict:
    """Of an object that is judged by itself."""
    if request.operation == "DELETE":
        return GOOD
    verdict = rule(typed(request, request.document, kind))
    before = _known(_before(request), lambda document: typed(request, document, kind))
    return verdict if before is None else verdict.beyond(rule(before))


def _pod(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    pod = typed(request, request.document, kube.Pod)
    sense, old = validate_pod(pod, request.document, terms), _before(request)
    before = _known(old, lambda document: typed(request, document, kube.Pod))
    if before is not None:
        sense = sense.beyond(validate_pod(before, old or {}, terms))
    return sense.plus(validate_pod_change(before, pod, request.user_info, facts, terms))


def _workload(request: Request, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    if request.operation == "DELETE":
        return GOOD
    kind, old = (request.kind.group, request.kind.kind), _before(request)
    before = _known(old, lambda document: templates_of(kind, _placed(request, document))) or []
    verdict = GOOD
    for place, template in enumerate(templates_of(kind, _placed(request, request.document))):
        was = before[place] if place < len(before) else None
        sense = validate_workload(template, terms)
        sense = sense if was is None else sense.beyond(validate_workload(was, terms))
        verdict = verdict.plus(sense, validate_workload_change(was, template, request.user_info, facts, terms))
    return verdict


def _placed(request: Request, document: Document) -> Document:
    return {**document, "metadata": {**_metadata(document), "namespace": request.namespace}}


V = TypeVar("V")


def _known(document: Document | None, read: Callable[[Document], V]) -> V | None:
    """The object as it was; one that nobody could read is as if it had not been there."""
    if document is None:
        return None
    try:
        return read(document)
    except ObjectError:
        return None


_OPERATIONS = ("CREATE", "UPDATE", "DELETE")
_RULES: dict[tuple[str, str], Callable[[Request, Facts, AdmissionPolicy], AdmissionVerdict]] = {
    (volcano.GROUP, "PodGroup"): _pod_group,
    (native.GROUP, "PodGroup"): _native_group,
    (volcano.GROUP, "Queue"): _queue,
    (KubeHyperNode.group, "HyperNode"): _hyper_node,
    (KubeTopology.group, "Topology"): _topology,
    ("", "Pod"): _pod,
    VOLCANO_JOB: _workload,
    **dict.fromkeys(WORKLOADS, _workload),
}
