"""What a HyperNode says of itself: how many nodes are in it, and what is wrong with its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.topology import KubeHyperNode

#: The condition that says whether everything in the description could be understood and found.
VALID = "Valid"
_UNDERSTOOD, _FAULTY = "Understood", "Faulty"
_MAX_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    nodes: int
    faults: Sequence[str] = ()

    @property
    def status(self) -> str:
        return "False" if self.faults else "True"

    @property
    def message(self) -> str:
        left = len(self.faults) - _MAX_FAULTS
        told = [*self.faults[:_MAX_FAULTS], *([f"and {left} more"] if left > 0 else [])]
        return "; ".join(told)

    def is_told_by(self, hyper_node: KubeHyperNode) -> bool:
        """Whether the status says all this already."""
        return hyper_node.status.node_count == self.nodes and not self.differs_from(hyper_node)

    def differs_from(self, hyper_node: KubeHyperNode) -> bool:
        """Whether the condition says something else."""
        told = condition_of(hyper_node)
        return told is None or (told.status, told.message or "") != (self.status, self.message)

    def as_status(self, hyper_node: KubeHyperNode, now: str) -> dict[str, Any]:
        """The status to write. A condition that goes on has begun when it began."""
        told = condition_of(hyper_node)
        goes_on = told is not None and told.status == self.status
        condition = {
            "type": VALID,
            "status": self.status,
            "reason": _FAULTY if self.faults else _UNDERSTOOD,
            "message": self.message,
            "lastTransitionTime": (told.last_transition_time if told and goes_on else None) or now,
        }
        return {"nodeCount": self.nodes, "conditions": [condition]}


def condition_of(hyper_node: KubeHyperNode) -> KubeCondition | None:
    return next((each for each in hyper_node.status.conditions or () if each.type == VALID), None)
