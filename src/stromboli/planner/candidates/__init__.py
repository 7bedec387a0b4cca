"""Candidate changes that may let a waiting job start, from the smallest to the largest kind.

Each is proposed only after a successful trial.
"""

from collections.abc import Iterator

from stromboli.planner.candidates.admission import (
    larger_capability,
    larger_weight,
    missing_queue,
    opened_queue,
    similar_queue,
)
from stromboli.planner.candidates.candidate import RemedyCandidate
from stromboli.planner.candidates.capacity import more_nodes, uncordoned_nodes
from stromboli.planner.candidates.members import (
    missing_group,
    missing_pods,
    smaller_minimum,
    smaller_role_minimums,
    smaller_sub_group_minimums,
    without_gates,
)
from stromboli.planner.candidates.minimum_resources import overstated_minimum_resources, smaller_minimum_resources
from stromboli.planner.candidates.placement import (
    more_tolerations,
    without_hard_topology,
    without_node_affinity,
    without_node_selectors,
    without_pod_affinity,
    without_spreading,
)
from stromboli.planner.candidates.priority import higher_priority
from stromboli.planner.candidates.queue_shares import larger_deserved, larger_guarantee
from stromboli.planner.candidates.requests import smaller_requests, without_missing_resources
from stromboli.planner.job_context import JobContext

__all__ = ["RemedyCandidate", "candidates_for"]

_FAMILIES = (
    opened_queue,
    similar_queue,
    missing_queue,
    missing_group,
    missing_pods,
    smaller_minimum,
    smaller_role_minimums,
    smaller_sub_group_minimums,
    without_gates,
    overstated_minimum_resources,
    more_tolerations,
    without_node_selectors,
    without_node_affinity,
    without_pod_affinity,
    without_spreading,
    without_hard_topology,
    uncordoned_nodes,
    higher_priority,
    larger_capability,
    larger_weight,
    larger_deserved,
    larger_guarantee,
    without_missing_resources,
    smaller_requests,
    more_nodes,
    smaller_minimum_resources,
)


def candidates_for(context: JobContext) -> Iterator[RemedyCandidate]:
    for family in _FAMILIES:
        yield from family(context)
