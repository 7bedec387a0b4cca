"""The NUMA policy and exclusive CPUs that a pod requests."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.config.spelling import quoted
from stromboli.core.model.nodes.cpu_assignment import Demand
from stromboli.core.model.nodes.numa import NONE, POLICIES, POLICY, WANTED
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass


@dataclass(frozen=True, slots=True)
class NumaPreference:
    """The policy that the pod names, empty for none, and the exclusive CPUs of its containers."""

    policy: str = ""
    demand: Demand = ()
    #: Why the policy is invalid.
    fault: Reason | None = None


_NO_PREFERENCE = NumaPreference()


def preference_of(task_class: TaskClass) -> NumaPreference:
    """Only guaranteed pods get processors of their own."""
    wanted, policy = task_class.annotations.get(WANTED), task_class.annotations.get(POLICY, "")
    if wanted is None:
        return _NO_PREFERENCE
    pairs = (part.partition("=") for part in wanted.split(",") if part)
    demand = tuple((container, int(number)) for container, _, number in pairs)
    if policy and policy not in POLICIES:
        detail = f"annotation {POLICY}: {quoted(policy)} is not known; write {' or '.join(POLICIES)}"
        return NumaPreference(demand=demand, fault=Reason(Code.INVALID_OBJECT, detail))
    return NumaPreference("" if policy == NONE else policy, demand)
