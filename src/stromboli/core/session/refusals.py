"""Refusals of a cycle with their reasons, formatted in one place."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from stromboli.core.model.nodes.table import Index
from stromboli.core.model.reasons import CODES, Code, Reason, Remedy, shortened_line
from stromboli.core.model.tasks.task import TaskStatus


class NodeRefusals:
    """Why no node accepted a class: each reason with its nodes. A node may lack several resources.

    Jobs of one class share the refusal, so the message is built once.
    """

    __slots__ = ("_message", "_reason", "groups", "total")

    def __init__(self, total: int, groups: Sequence[tuple[Reason, Index]]) -> None:
        self.total = total
        self.groups = groups
        self._message = ""
        self._reason: Reason | None = None

    @property
    def reason(self) -> Reason:
        """Return the refusal as one reason."""
        if self._reason is None:
            self._reason = Reason(self.code, str(self), short=lambda: self.short)
        return self._reason

    @property
    def code(self) -> Code:
        """Return the reason that all nodes have in common, if there is one."""
        codes = {reason.code for reason, _ in self.groups}
        return codes.pop() if len(codes) == 1 else Code.GANG_DOES_NOT_FIT if codes else Code.NO_NODES

    def __str__(self) -> str:
        """Format like kube-scheduler: `0/5 nodes are available: 3 Insufficient cpu, ...`."""
        self._message = self._message or self._formatted()
        return self._message

    def _formatted(self) -> str:
        if not self.total:
            return "0/0 nodes are available: the cluster has no nodes."
        return f"0/{self.total} nodes are available: {_by_count((r.detail, len(n)) for r, n in self.groups)}."

    @property
    def short(self) -> str:
        """Return the short form: `2 nodes cordoned`, `3 nodes: 2 insufficient cpu, 1 cordoned`."""
        if not self.groups:
            return CODES[Code.NO_NODES].title
        nodes = f"{self.total} node{'' if self.total == 1 else 's'}"
        if len(self.groups) > 1:
            return shortened_line(f"{nodes}: {_by_count((r.short, len(n)) for r, n in self.groups)}")
        reason, rows = self.groups[0]
        state = reason.short
        which = nodes if len(rows) == self.total else f"{len(rows)} of {nodes}"
        return shortened_line(f"{which}{':' if ' ' in state else ''} {state}")


def _by_count(parts: Iterable[tuple[str, int]]) -> str:
    """Format as `3 Insufficient cpu, 1 node(s) were unschedulable`, the most frequent first."""
    counts: Counter[str] = Counter()
    for text, number in parts:
        counts[text] += number
    return ", ".join(f"{counts[text]} {text}" for text in sorted(counts, key=lambda text: (-counts[text], text)))


class TaskRefusal:
    """A class of a job that found no node, or was not tried.

    Without a reason of its own it has that of the nodes. A function finds the nodes when they are read.
    """

    __slots__ = ("_nodes", "_reason", "class_number", "placed", "task")

    def __init__(
        self,
        task: str,
        class_number: int,
        reason: Reason | None,
        nodes: NodeRefusals | Callable[[], NodeRefusals] | None = None,
        placed: int = 0,
    ) -> None:
        self.task = task
        self.class_number = class_number
        self._reason = reason
        self._nodes = nodes
        #: The number of tasks of the class that were placed in the failed attempt.
        self.placed = placed

    @property
    def nodes(self) -> NodeRefusals | None:
        if callable(self._nodes):
            self._nodes = self._nodes()
        return self._nodes

    @property
    def reason(self) -> Reason:
        if self._reason is None:
            nodes = self.nodes
            self._reason = NodeRefusals(0, ()).reason if nodes is None else nodes.reason
        return self._reason

    @property
    def is_lasting(self) -> bool:
        """Report whether waiting does not resolve the reason of some node, or of the class."""
        reasons = [reason for reason, _ in self.nodes.groups] if self.nodes else [self.reason]
        return any(reason.remedy is not Remedy.WAIT for reason in reasons)


@dataclass(slots=True)
class JobRefusal:
    """Everything that kept a job from starting in this cycle."""

    reasons: list[Reason] = field(default_factory=list)
    tasks: dict[int, TaskRefusal] = field(default_factory=dict)

    def add(self, reason: Reason) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)

    def replace(self, reason: Reason) -> None:
        """Add a reason, replacing earlier ones with the same code."""
        self.reasons = [each for each in self.reasons if each.code is not reason.code]
        self.reasons.append(reason)

    def add_task(self, refusal: TaskRefusal) -> None:
        self.tasks[refusal.class_number] = refusal

    def lasting(self) -> "JobRefusal":
        """Return the refusal without what waiting resolves."""
        reasons = [reason for reason in self.reasons if reason.remedy is not Remedy.WAIT]
        return JobRefusal(reasons, {number: task for number, task in self.tasks.items() if task.is_lasting})

    def causes(self) -> list[Reason]:
        """Return every reason once; those of all nodes are one reason."""
        return list(dict.fromkeys((*(refusal.reason for refusal in self.tasks.values()), *self.reasons)))


@dataclass(frozen=True, slots=True)
class LastTransaction:
    """The placement of a task in the discarded attempt, which explains what the task waits for."""

    node: str
    status: TaskStatus
    after_eviction: bool = False


def histogram(counts: Iterable[tuple[int, str]]) -> str:
    """Format counts as `3 Pending, 1 Running`, sorted by name."""
    return ", ".join(f"{count} {word}" for count, word in sorted(counts, key=lambda pair: pair[1]) if count)
