"""Workloads of several roles whose pods share one PodGroup: the form of most operators' jobs.

An operator is described by its roles and by what it sets on group and pods; the objects follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.group_documents import group_document
from stromboli.workloads.min_resources import Members, first_members, total_request
from stromboli.workloads.pod_documents import VOLCANO, member_annotations, owner_of, pod_document


class Role(NamedTuple):
    """Pods of one template."""

    name: str
    number: int
    #: The field of the template.
    path: str
    template: Mapping[str, Any]
    #: Its entry in `minTaskMember`, if the operator writes one.
    minimum: int | None = None
    #: Whether its pods are created after those of other roles. They count for the minimum of resources.
    is_later: bool = False
    #: Further labels, annotations and fields of its pods.
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}


def name_with_role(workload: WorkloadDocument, role: Role, index: int) -> str:
    return f"{workload.name}-{role.name}-{index}"


@dataclass(frozen=True, slots=True)
class OperatorGang:
    """What an operator makes of a workload. Without the name of a group its pods are grouped by their owner."""

    workload: WorkloadDocument
    roles: Sequence[Role]
    group: str = ""
    #: The minimum of the group; None for all pods.
    minimum: int | None = None
    queue: str = ""
    priority_class: str = ""
    #: None for the sum of the requests of the minimum of pods.
    min_resources: Mapping[str, Any] | None = None
    topology: Mapping[str, Any] = field(default_factory=dict)
    sub_groups: Sequence[Mapping[str, Any]] = ()
    group_labels: Mapping[str, str] = field(default_factory=dict)
    group_annotations: Mapping[str, str] = field(default_factory=dict)
    #: The owner of the pods, if it is not the workload.
    owner: Mapping[str, Any] | None = None
    #: The scheduler that the operator sets for pods without one; or for all, if `sets_scheduler` is true.
    scheduler: str = VOLCANO
    sets_scheduler: bool = False
    #: Whether pods have the annotation of their role.
    names_roles: bool = True
    pod_name: Callable[[WorkloadDocument, Role, int], str] = name_with_role
    pod_labels: Callable[[Role, int], Mapping[str, str]] = lambda role, index: {}
    notes: Sequence[str] = ()
    run_time: str = ""


def expand_gang(gang: OperatorGang, context: ExpansionContext) -> Expansion:
    """Return the group, and the pods of all roles that are created at once."""
    paths = [role.path for role in gang.roles]
    checked_number(gang.workload, sum(role.number for role in gang.roles), paths[0] if paths else "spec")
    pods = [
        CreatedObject(_pod(gang, role, index), role.path)
        for role in gang.roles
        if not role.is_later
        for index in range(role.number)
    ]
    groups = [CreatedObject(_group(gang, context))] if gang.group else []
    return Expansion(pods, groups, notes=list(gang.notes), run_time=gang.run_time)


def _pod(gang: OperatorGang, role: Role, index: int) -> dict[str, Any]:
    own = role.template["spec"].get("schedulerName")
    scheduler = gang.scheduler if gang.sets_scheduler or not own else own
    member = member_annotations(gang.group, role.name if gang.names_roles else "") if gang.group else {}
    return pod_document(
        gang.workload,
        role.template,
        gang.pod_name(gang.workload, role, index),
        labels={**gang.pod_labels(role, index), **role.labels},
        annotations={**member, **role.annotations},
        spec={**({"schedulerName": scheduler} if scheduler else {}), **role.spec},
        owner=gang.owner,
    )


def _group(gang: OperatorGang, context: ExpansionContext) -> dict[str, Any]:
    total = sum(role.number for role in gang.roles)
    minimum = total if gang.minimum is None else gang.minimum
    spec = {
        "minMember": minimum,
        "minTaskMember": {role.name: role.minimum for role in gang.roles if role.minimum is not None},
        "queue": gang.queue,
        "priorityClassName": gang.priority_class,
        "minResources": _minimum_request(gang, minimum, context) if gang.min_resources is None else gang.min_resources,
        "networkTopology": gang.topology,
        "subGroupPolicy": list(gang.sub_groups),
    }
    return group_document(
        gang.workload,
        gang.group,
        spec,
        labels=gang.group_labels,
        annotations=gang.group_annotations,
        owner=owner_of(gang.workload),
    )


def _minimum_request(gang: OperatorGang, minimum: int, context: ExpansionContext) -> Mapping[str, str]:
    return total_request(first_members(members_of(gang.roles, context), minimum))


def members_of(roles: Sequence[Role], context: ExpansionContext) -> list[Members]:
    """Return the pods of all roles. Operators sum up the templates as they are written."""
    classes = (role.template["spec"].get("priorityClassName") or "" for role in roles)
    return [
        Members(role.template, role.number, context.priority_of(name))
        for role, name in zip(roles, classes, strict=True)
    ]
