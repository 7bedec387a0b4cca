"""KAI's topology annotations of a PodGroup: the required and the preferred level of a Topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stromboli.core.model.jobs.job import JobSpec, NetworkTopology

TOPOLOGY = "kai.scheduler/topology"
REQUIRED = "kai.scheduler/topology-required-placement"
PREFERRED = "kai.scheduler/topology-preferred-placement"
#: The same for every sub-group.
PART_REQUIRED = "kai.scheduler/segment-topology-required-placement"
PART_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"


def apply_topology_levels(spec: JobSpec) -> None:
    """Apply the topology annotations to the job. Raises ValueError."""
    told = {key: value for key, value in spec.annotations.items() if key in _LEVELS and value}
    if not told:
        return
    _reject_contradictions(spec, told)
    spec.network = spec.annotations[TOPOLOGY]
    spec.topology = _wish(told, REQUIRED, PREFERRED)
    of_parts = _wish(told, PART_REQUIRED, PART_PREFERRED)
    spec.policies = tuple(replace(policy, topology=of_parts) for policy in spec.policies)


_LEVELS = frozenset((REQUIRED, PREFERRED, PART_REQUIRED, PART_PREFERRED))


def _wish(told: Mapping[str, str], required: str, preferred: str) -> NetworkTopology | None:
    highest, first = told.get(required, ""), told.get(preferred, "")
    return NetworkTopology(bool(highest), None, highest, first) if highest or first else None


def _reject_contradictions(spec: JobSpec, told: Mapping[str, str]) -> None:
    first = min(told)
    if not spec.annotations.get(TOPOLOGY):
        raise ValueError(f"metadata.annotations[{first}]: names a level of no Topology; name it by {TOPOLOGY}")
    if spec.topology or any(policy.topology for policy in spec.policies):
        raise ValueError(
            f"metadata.annotations[{first}]: the group has a networkTopology, too; keep one of both, as they speak of "
            "different networks"
        )
    if not spec.policies and (of_part := [key for key in (PART_REQUIRED, PART_PREFERRED) if key in told]):
        raise ValueError(
            f"metadata.annotations[{of_part[0]}]: the group has no sub-groups; make some by spec.subGroupPolicy, or "
            "remove the annotation"
        )
