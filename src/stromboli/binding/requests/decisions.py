"""Bind requests as the binder knows them: by decision, in the order in which they were first seen.

A decision of more members than fit into one object comes in parts, and nothing of it is carried out before all of
them are there. Everything that is kept here beside the objects can be found out again by a process that knows only
them, except for the moment of first sight: deadlines count anew for everybody who looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from stromboli.binding.plugins.plugin import Bind
from stromboli.kube.objects.bind_requests import (
    BINDING,
    FAILED,
    PENDING,
    SUCCEEDED,
    UNWINDING,
    BindRequest,
    BoundPod,
)

#: So long after the last decision of a term, in seconds, earlier terms may be later ones of another lease.
FORGOTTEN = 300.0
_ENDED = (SUCCEEDED, FAILED)
_KNOWN = ("", PENDING, BINDING, UNWINDING, *_ENDED)


@dataclass(frozen=True, slots=True)
class BindProblem:
    """Why a member is not bound, in words; one that is final will not pass."""

    words: str
    is_final: bool = False


@dataclass(slots=True, eq=False)
class Decision:
    """All parts of one decision, as far as they have come, and what is being done about it.

    Another one may take its key when it is gone, and is another one.
    """

    key: str
    first_seen: float
    #: Its place in the order of first sight.
    number: int = 0
    parts: dict[int, BindRequest] = field(default_factory=dict)
    #: Why nothing of it is carried out at all.
    refusal: str = ""
    #: Whether it was there before us: somebody else may have left something behind.
    is_inherited: bool = False
    #: Nothing is tried again before.
    not_before: float = 0.0
    #: The uids of members of which nobody knows whether they were bound.
    unknown: set[str] = field(default_factory=set)
    #: The uids of members that we bound ourselves: the watches may not have shown them yet.
    bound: set[str] = field(default_factory=set)
    #: Those of them of which the plugins know.
    followed: set[str] = field(default_factory=set)
    #: By uid, members that have their preparations behind them, and what went wrong with the last ones.
    prepared: dict[str, Bind] = field(default_factory=dict)
    problems: dict[str, BindProblem] = field(default_factory=dict)
    #: By uid, members for which something may have been prepared in this process.
    begun: dict[str, Bind] = field(default_factory=dict)
    preparing: asyncio.Task[None] | None = None
    #: Whether somebody looks at it just now.
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
        """How many members must be bound."""
        return sum(min(max(each.spec.min_member, 0), len(each.spec.pods)) for each in self.requests)

    @property
    def seconds(self) -> int:
        """How long it may take: who decided has counted in what volumes need, for each part those of its members."""
        return max(each.spec.deadline_seconds for each in self.requests)

    @property
    def deadline(self) -> float:
        return self.first_seen + self.seconds

    @property
    def failed_attempts(self) -> int:
        return max(each.status.failed_attempts for each in self.requests)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to do, or a phase is known to somebody else only."""
        return self.has_unknown_phase or all(each.status.phase in _ENDED for each in self.requests)

    @property
    def has_unknown_phase(self) -> bool:
        """Whether a phase is known to somebody else only: a binder of another version is at work."""
        return any(each.status.phase not in _KNOWN for each in self.requests)

    @property
    def has_succeeded(self) -> bool:
        return all(each.status.phase == SUCCEEDED for each in self.requests)

    @property
    def has_failed(self) -> bool:
        return all(each.status.phase == FAILED for each in self.requests)

    @property
    def is_unwinding(self) -> bool:
        return any(each.status.phase == UNWINDING for each in self.requests)

    def in_phase(self, phase: str) -> set[str]:
        """The uids of members that the status says are in this phase."""
        return {each.pod_uid for request in self.requests for each in request.status.pods if each.phase == phase}

    @property
    def has_begun(self) -> bool:
        """Whether somebody has written that it is being carried out: only then is anything prepared."""
        return any(each.status.phase in (BINDING, UNWINDING) for each in self.requests)


class DecisionIndex:
    """`woken` is told the key of every decision that somebody should look at."""

    def __init__(self, clock: Callable[[], float], notify: Callable[[str], None] = lambda key: None) -> None:
        self._clock = clock
        self._notify_decision = notify
        #: By key of the object.
        self.requests: dict[str, BindRequest] = {}
        self.decisions: dict[str, Decision] = {}
        self._of_pod: dict[str, set[str]] = {}
        self._of_node: dict[str, set[str]] = {}
        #: By scheduler, the highest term of whose leader was heard, and when it last was.
        self._highest: dict[str, tuple[int, float]] = {}
        #: The latest term of a binder that wrote a status while we looked on.
        self.latest_term = 0
        #: Told of decisions that are gone.
        self.dropped: Callable[[Decision], None] = lambda decision: None
        #: Of these, lower versions may be news.
        self._unversioned: set[str] = set()
        self._count = 0
        self._is_open = False

    def open(self) -> list[str]:
        """Everything was listed: who was begun comes first, then who came first. Answers the keys in that order."""
        self._is_open = True
        ordered = sorted(self.decisions.values(), key=_start_order)
        for number, decision in enumerate(ordered):
            decision.number, decision.is_inherited = number, True
            self._judge(decision)
        self._count = len(ordered)
        return [decision.key for decision in ordered]

    def apply(self, request: BindRequest) -> None:
        """A request was added or changed, or was just written by us. Older versions are no news."""
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
            self._index(key, request)
            if self._is_open:
                self._judge(decision)
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
        self._unindex(key, known)
        self._notify_decision(key)

    def forget_history(self) -> None:
        """The server's history has begun anew."""
        self._unversioned = set(self.requests)

    def of_pod(self, uid: str) -> frozenset[str]:
        """The decisions that name a pod."""
        return frozenset(self._of_pod.get(uid, ()))

    def of_node(self, name: str) -> frozenset[str]:
        return frozenset(self._of_node.get(name, ()))

    def transfer(self, uid: str, decision: Decision) -> bool:
        """Whether another decision has prepared the same pod, too: what there is belongs to that one from now on."""
        others = (self.decisions[key] for key in self.of_pod(uid))
        if not any(uid in other.begun for other in others if other is not decision):
            return False
        decision.begun.pop(uid, None)
        decision.prepared.pop(uid, None)
        return True

    def open_decisions(self) -> list[Decision]:
        return [each for each in self.decisions.values() if not each.is_settled]

    def _judge(self, decision: Decision) -> None:
        """A leader that was followed by another decides nothing any more. What was begun stays begun.

        Terms begin anew with a lease that was deleted, and without an election there are none: a term that nobody has
        spoken for in a long time counts no more.
        """
        spec, now = decision.first.spec, self._clock()
        highest, heard = self._highest.get(spec.scheduler, (spec.epoch, now))
        if spec.epoch >= highest or now - heard > FORGOTTEN:
            self._highest[spec.scheduler] = spec.epoch, now
        elif not any(each.status.phase for each in decision.requests):
            decision.refusal = (
                f"decided in term {spec.epoch} of scheduler {spec.scheduler}, which is in term {highest} by now"
            )

    def _index(self, key: str, request: BindRequest) -> None:
        for member in request.spec.pods:
            self._of_pod.setdefault(member.pod_uid, set()).add(key)
            self._of_node.setdefault(member.selected_node, set()).add(key)

    def _unindex(self, key: str, request: BindRequest) -> None:
        decision = self.decisions.get(key)
        still = {name for _, each in decision.members() for name in (each.selected_node,)} if decision else set()
        for member in request.spec.pods:
            _discard(self._of_pod, member.pod_uid, key)
            if member.selected_node not in still:
                _discard(self._of_node, member.selected_node, key)


def _key_of(request: BindRequest) -> str:
    """Parts have their decision in common; a request that is whole stands for itself."""
    spec, namespace = request.spec, request.metadata.namespace
    return f"{namespace}/{spec.scheduler}/{spec.decision}" if spec.parts > 1 else request.key


def _start_order(decision: Decision) -> tuple[bool, str, int, str]:
    first = decision.first
    return not decision.has_begun, first.metadata.creation_timestamp or "", first.spec.epoch, decision.key


def _discard(index: dict[str, set[str]], name: str, key: str) -> None:
    keys = index.get(name)
    if keys is not None:
        keys.discard(key)
        if not keys:
            del index[name]


def _is_newer(request: BindRequest, known: BindRequest) -> bool:
    one, other = request.metadata.resource_version or "", known.metadata.resource_version or ""
    return not (one.isdecimal() and other.isdecimal()) or int(one) > int(other)
