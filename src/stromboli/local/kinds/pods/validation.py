"""Validation of a pod spec, in a pod or in a template."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.pods.container_validation import (
    claims_causes,
    containers_causes,
    gates_causes,
    volumes_causes,
)
from stromboli.local.kinds.pods.placement_validation import placement_causes
from stromboli.local.kinds.pods.resource_validation import amount_causes, pod_resource_causes
from stromboli.local.kinds.validation.field_errors import not_allowed, one_of, wrong
from stromboli.local.kinds.validation.names import subdomain_problem

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_DEADLINE = 2**31 - 1


def pod_spec_causes(spec: Object, field: str = "spec") -> Iterator[Cause]:
    """Validate a complete spec by itself."""
    if volumes := spec.get("volumes"):
        yield from volumes_causes(volumes, f"{field}.volumes")
    if claims := spec.get("resourceClaims"):
        yield from claims_causes(claims, f"{field}.resourceClaims")
    yield from containers_causes(spec, field)
    yield from one_of(f"{field}.restartPolicy", spec["restartPolicy"], _RESTART_POLICIES)
    yield from one_of(f"{field}.dnsPolicy", spec["dnsPolicy"], _DNS_POLICIES)
    yield from placement_causes(spec, field)
    yield from _amounts_causes(spec, field)
    yield from _deadline_causes(spec, field)
    yield from _node_causes(spec, field)


def _amounts_causes(spec: Object, field: str) -> Iterator[Cause]:
    if resources := spec.get("resources"):
        yield from pod_resource_causes(resources, f"{field}.resources")
    for name, amount in (spec.get("overhead") or {}).items():
        yield from amount_causes(name, str(amount), f"{field}.overhead.limits[{name}]")


def _deadline_causes(spec: Object, field: str) -> Iterator[Cause]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_DEADLINE:
        why = f"must be between 1 and {_MAX_DEADLINE}, inclusive"
        yield wrong(f"{field}.activeDeadlineSeconds", deadline, why)


def _node_causes(spec: Object, field: str) -> Iterator[Cause]:
    node, gates = spec.get("nodeName"), spec.get("schedulingGates")
    if gates:
        yield from gates_causes(gates, f"{field}.schedulingGates")
    if node and (problem := subdomain_problem(node)):
        yield wrong(f"{field}.nodeName", node, problem)
    if node and gates:
        yield not_allowed(f"{field}.nodeName", "cannot be set until all schedulingGates have been cleared")
