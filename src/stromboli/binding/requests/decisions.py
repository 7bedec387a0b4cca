"""Bind requests as the binder sees them: indexed by decision, in the order of arrival.

A decision with more members than fit into one object has several parts, and nothing of it is executed before all parts
exist. Everything kept here besides the objects can be derived from them by another process, except the time of arrival:
every process counts deadlines from when it first saw the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from stromboli.binding.plugins.preparations import BindProblem
from stromboli.cluster.objects.indexes import discard_member
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import BINDING, FAILED, PENDING, SUCCEEDED, UNWINDING, BindRequest, BoundPod

#: Seconds after the last decision of a term, after which a lower term may be a later one of a new lease.
TERM_EXPIRY = 300.0
_ENDED = (SUCCEEDED, FAILED)
_KNOWN = ("", PENDING, BINDING, UNWINDING, *_ENDED)


@dataclass(slots=True, eq=False)
class Decision:
    """The parts of one decision that have arrived, and the state of their execution.

    A later decision with the same key is another object.
    """

    key: str
    first_seen: float
    #: Position in the order of arrival.
    number: int = 0
    parts: dict[int, BindRequest] = field(default_factory=dict)
    #: Why the decision is rejected as a whole.
    refusal: str = ""
    #: Whether the decision existed before this process started: a predecessor may have left preparations.
    is_inherited: bool = False
    #: No attempt starts before this time.
    not_before: float = 0.0
    #: The uids of members whose bind has an unknown outcome.
    unknown: set[str] = field(default_factory=set)
    #: The uids of members bound by this process: the watches may not show them yet.
    bound: set[str] = field(default_factory=set)
    #: The uids of bound members for which `post_bind` has run.
    followed: set[str] = field(default_factory=set)
    #: Prepared members by uid, and the problems of the last preparation.
    prepared: dict[str, Placement] = field(default_factory=dict)
    problems: dict[str, BindProblem] = field(default_factory=dict)
    #: Members by uid for which this process may have prepared something.
    begun: dict[str, Placement] = field(default_factory=dict)
    preparing: asyncio.Task[None] | None = None
    #: Whether a worker is processing the decision.
    is_processing: bool = False

    @property
    def first(self) -> BindRequest:
        return self.parts[min(self.parts)]

    @property
    def requests(self) -> list[BindRequest]:
        return [self.parts[part] for part in sorted(self.parts)]

    def members(self) -> Iterator[tuple[BindRequest, BoundPod]]:
        for request in self.requests:
            for member in request.spec.pods:
                yield request, member

    @property
    def is_complete(self) -> bool:
        return len(self.parts) >= self.first.spec.parts

    @property
    def needed(self) -> int:
        """Return how many members must be bound."""
        return sum(min(max(each.spec.min_member, 0), len(each.spec.pods)) for each in self.requests)

    @property
    def seconds(self) -> int:
        """The time limit. The scheduler has added the time for volumes, for each part that of its members."""
        return max(each.spec.deadline_seconds for each in self.requests)

    @property
    def deadline(self) -> float:
        return self.first_seen + self.seconds

    @property
    def failed_attempts(self) -> int:
        return max(each.status.failed_attempts for each in self.requests)

    @property
    def is_settled(self) -> bool:
        """Report whether nothing is left to do here."""
        return self.has_unknown_phase or all(each.status.phase in _ENDED for each in self.requests)

    @property
    def has_unknown_phase(self) -> bool:
        """Report whether a binder of another version processes it."""
        return any(each.status.phase not in _KNOWN for each in self.requests)

    def has_ended_as(self, phase: str) -> bool:
        return all(each.status.phase == phase for each in self.requests)

    @property
    def is_unwinding(self) -> bool:
        return any(each.status.phase == UNWINDING for each in self.requests)

    def in_phase(self, phase: str) -> set[str]:
        """Return the uids of members in this phase, by the status of the requests."""
        return {each.pod_uid for request in self.requests for each in request.status.pods if each.phase == phase}

    @property
    def has_begun(self) -> bool:
        """Report whether the status shows that execution has begun: only then can anything be prepared."""
        return any(each.status.phase in (BINDING, UNWINDING) for each in self.requests)


class DecisionIndex:
    """`notify` is called with the key of every decision that has to be processed."""

    def __init__(self, clock: Callable[[], float], notify: Callable[[str], None] = lambda key: None) -> None:
        self._clock = clock
        self._notify_decision = notify
        #: By key of the object.
        self.requests: dict[str, BindRequest] = {}
        self.decisions: dict[str, Decision] = {}
        self._of_pod: dict[str, set[str]] = {}
        self._of_node: dict[str, set[str]] = {}
        #: By scheduler, the highest term of a leader, and when it was last seen.
        self._highest: dict[str, tuple[int, float]] = {}
        #: The latest term of a binder that wrote a status since this process started.
        self.latest_term = 0
        #: Called with decisions that were deleted.
        self.dropped: Callable[[Decision], None] = lambda decision: None
        #: Requests for which lower resource versions are accepted.
        self._unversioned: set[str] = set()
        self._count = 0
        self._is_open = False

    def open(self) -> list[str]:
        """Order decisions after the initial list: begun ones first, then by age. Returns their keys."""
        self._is_open = True
        ordered = sorted(self.decisions.values(), key=_start_order)
        for number, decision in enumerate(ordered):
            decision.number, decision.is_inherited = number, True
            self._check_term(decision)
        self._count = len(ordered)
        return [decision.key for decision in ordered]

    def apply(self, request: BindRequest) -> None:
        """Store a request that was added, changed, or just written by this process. Old versions are ignored."""
        known = self.requests.get(request.key)
        is_same = known is not None and known.metadata.uid == request.metadata.uid
        if known is not None and is_same and not (request.key in self._unversioned or _is_newer(request, known)):
            return
        self._unversioned.discard(request.key)
        if self._is_open and known is not None and request.status.epoch > known.status.epoch:
            self.latest_term = max(self.latest_term, request.status.epoch)
        if known is not None and known.metadata.uid != request.metadata.uid:
            self.remove(known)
        self.requests[request.key] = request
        key = _key_of(request)
        decision = self.decisions.get(key)
        if decision is None:
            decision = self.decisions[key] = Decision(key, self._clock(), self._count)
            self._count += 1
        is_new = request.spec.part not in decision.parts
        decision.parts[request.spec.part] = request
        if is_new:
            for member in request.spec.pods:
                self._of_pod.setdefault(member.pod_uid, set()).add(key)
                self._of_node.setdefault(member.selected_node, set()).add(key)
            if self._is_open:
                self._check_term(decision)
        self._notify_decision(key)

    def remove(self, request: BindRequest) -> None:
        known = self.requests.get(request.key)
        if known is None or known.metadata.uid != request.metadata.uid:
            return
        del self.requests[request.key]
        key = _key_of(known)
        decision = self.decisions.get(key)
        if decision is None or decision.parts.get(known.spec.part) is not known:
            return
        if len(decision.parts) == 1:
            del self.decisions[key]
            self.dropped(decision)
        else:
            del decision.parts[known.spec.part]
        left = self.decisions.get(key)
        remaining = {each.selected_node for _, each in left.members()} if left else set()
        for member in known.spec.pods:
            discard_member(self._of_pod, member.pod_uid, key)
            if member.selected_node not in remaining:
                discard_member(self._of_node, member.selected_node, key)
        self._notify_decision(key)

    def forget_history(self) -> None:
        """Accept lower resource versions: the API server's history has been reset."""
        self._unversioned = set(self.requests)

    def of_pod(self, uid: str) -> frozenset[str]:
        """Return the keys of decisions that name a pod."""
        return frozenset(self._of_pod.get(uid, ()))

    def of_node(self, name: str) -> frozenset[str]:
        return frozenset(self._of_node.get(name, ()))

    def has(self, decision: Decision, uid: str) -> bool:
        """Report whether the request of a decision that names a pod still exists."""
        return self.decisions.get(decision.key) is decision and decision.key in self._of_pod.get(uid, ())

    def preparing(self, placement: Placement) -> Decision | None:
        """Return the decision for which a placement is being prepared; None when its request was deleted."""
        named = (self.decisions[key] for key in self.of_pod(placement.uid))
        return next((each for each in named if each.begun.get(placement.uid) is placement), None)

    def transfer(self, uid: str, decision: Decision) -> bool:
        """Report whether another decision has prepared the same pod: the preparations then belong to that one."""
        others = (self.decisions[key] for key in self.of_pod(uid))
        if not any(uid in other.begun for other in others if other is not decision):
            return False
        decision.begun.pop(uid, None)
        decision.prepared.pop(uid, None)
        return True

    def open_decisions(self) -> list[Decision]:
        return [each for each in self.decisions.values() if not each.is_settled]

    def _check_term(self, decision: Decision) -> None:
        """Reject decisions of a former leader, unless execution has begun. Terms expire: a new lease restarts them."""
        spec, now = decision.first.spec, self._clock()
        highest, seen = self._highest.get(spec.scheduler, (spec.epoch, now))
        if spec.epoch >= highest or now - seen > TERM_EXPIRY:
            self._highest[spec.scheduler] = spec.epoch, now
        elif not any(each.status.phase for each in decision.requests):
            current = f"whose current term is {highest}"
            decision.refusal = f"decided in term {spec.epoch} of scheduler {spec.scheduler}, {current}"


def _key_of(request: BindRequest) -> str:
    """Return the key that all parts of a decision share; a request without parts is a decision of its own."""
    spec, namespace = request.spec, request.metadata.namespace
    return f"{namespace}/{spec.scheduler}/{spec.decision}" if spec.parts > 1 else request.key


def _start_order(decision: Decision) -> tuple[bool, str, int, str]:
    first = decision.first
    return not decision.has_begun, first.metadata.creation_timestamp or "", first.spec.epoch, decision.key


def _is_newer(request: BindRequest, known: BindRequest) -> bool:
    one, other = request.metadata.resource_version or "", known.metadata.resource_version or ""
    return not (one.isdecimal() and other.isdecimal()) or int(one) > int(other)
