"""KAI's topology annotations of a PodGroup: the required and the preferred level of a Topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stromboli.core.model.jobs.job import JobSpec, NetworkTopology
from stromboli.workloads.plain_groups import PREFERRED, REQUIRED, TOPOLOGY

#: The same for every sub-group.
SUB_GROUP_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SUB_GROUP_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"


def apply_topology_levels(spec: JobSpec) -> None:
    """Apply the topology annotations to the job. Raises ValueError."""
    levels = {key: value for key, value in spec.annotations.items() if key in _LEVELS and value}
    if not levels:
        return
    _reject_contradictions(spec, levels)
    spec.network = spec.annotations[TOPOLOGY]
    spec.topology = _constraint(levels, REQUIRED, PREFERRED)
    of_sub_groups = _constraint(levels, SUB_GROUP_REQUIRED, SUB_GROUP_PREFERRED)
    spec.policies = tuple(replace(policy, topology=of_sub_groups) for policy in spec.policies)


_LEVELS = frozenset((REQUIRED, PREFERRED, SUB_GROUP_REQUIRED, SUB_GROUP_PREFERRED))


def _constraint(levels: Mapping[str, str], required: str, preferred: str) -> NetworkTopology | None:
    highest, first = levels.get(required, ""), levels.get(preferred, "")
    return NetworkTopology(bool(highest), None, highest, first) if highest or first else None


def _reject_contradictions(spec: JobSpec, levels: Mapping[str, str]) -> None:
    first = min(levels)
    if not spec.annotations.get(TOPOLOGY):
        raise ValueError(f"metadata.annotations[{first}]: names a level of no Topology; name it by {TOPOLOGY}")
    if spec.topology or any(policy.topology for policy in spec.policies):
        raise ValueError(
            f"metadata.annotations[{first}]: the group has a networkTopology, too; keep one of both, as they speak of "
            "different networks"
        )
    if not spec.policies and (
        of_sub_group := [key for key in (SUB_GROUP_REQUIRED, SUB_GROUP_PREFERRED) if key in levels]
    ):
        raise ValueError(
            f"metadata.annotations[{of_sub_group[0]}]: the group has no sub-groups; make some by "
            "spec.subGroupPolicy, or remove the annotation"
        )
