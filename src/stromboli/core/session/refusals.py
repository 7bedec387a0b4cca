"""What was refused in a cycle, and why, kept so that it can be told in words everywhere alike."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stromboli.core.model.nodes.table import Index
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import TaskStatus


class NodeRefusals:
    """Why no node took a class: each reason with the nodes it holds for. A node may lack several resources.

    Jobs of one class share the refusal, and it is told for each of them: the words are made once.
    """

    __slots__ = ("_reason", "_words", "groups", "total")

    def __init__(self, total: int, groups: Sequence[tuple[Reason, Index]]) -> None:
        self.total = total
        self.groups = groups
        self._words = ""
        self._reason: Reason | None = None

    @property
    def reason(self) -> Reason:
        """The refusal as one reason."""
        if self._reason is None:
            self._reason = Reason(self.code, str(self))
        return self._reason

    @property
    def code(self) -> Code:
        """The reason that all nodes have in common, if there is one."""
        codes = {reason.code for reason, _ in self.groups}
        return codes.pop() if len(codes) == 1 else Code.GANG_DOES_NOT_FIT if codes else Code.NO_NODES

    def __str__(self) -> str:
        """The words that people search for: `0/5 nodes are available: 3 Insufficient cpu, ...`."""
        self._words = self._words or self._in_words()
        return self._words

    def _in_words(self) -> str:
        if not self.total:
            return "0/0 nodes are available: the cluster has no nodes."
        counts: Counter[str] = Counter()
        for reason, nodes in self.groups:
            counts[reason.detail] += len(nodes)
        words = ", ".join(f"{counts[detail]} {detail}" for detail in sorted(counts, key=lambda d: (-counts[d], d)))
        return f"0/{self.total} nodes are available: {words}."


@dataclass(frozen=True, slots=True)
class TaskRefusal:
    """One class of a job that found no node, or was not allowed to look for one."""

    task: str
    class_number: int
    reason: Reason
    nodes: NodeRefusals | None = None
    #: How many tasks of the class had a place in the attempt that failed.
    placed: int = 0


@dataclass(slots=True)
class JobRefusal:
    """Everything that kept a job from starting in this cycle."""

    reasons: list[Reason] = field(default_factory=list)
    tasks: dict[int, TaskRefusal] = field(default_factory=dict)

    def add(self, reason: Reason) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)

    def replace(self, reason: Reason) -> None:
        """Add a reason; what was said before under its code does not hold any more."""
        self.reasons = [each for each in self.reasons if each.code is not reason.code]
        self.reasons.append(reason)

    def add_task(self, refusal: TaskRefusal) -> None:
        self.tasks[refusal.class_number] = refusal

    def sentences(self) -> list[str]:
        """Every reason once, the most telling ones first."""
        seen: dict[str, None] = {}
        for refusal in self.tasks.values():
            seen.setdefault(str(refusal.nodes or refusal.reason))
        for reason in self.reasons:
            seen.setdefault(reason.detail)
        return list(seen)


@dataclass(frozen=True, slots=True)
class LastTransaction:
    """What a task had in the attempt that was given up: it explains what the task is waiting for."""

    node: str
    status: TaskStatus
    after_eviction: bool = False


def histogram(counts: Iterable[tuple[int, str]]) -> str:
    """`3 Pending, 1 Running`, in the order of the words."""
    return ", ".join(f"{count} {word}" for count, word in sorted(counts, key=lambda pair: pair[1]) if count)
