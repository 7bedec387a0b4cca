"""The nodes that this shard may use: observed NodeShards go in, writes of its own NodeShard come out.

Nothing here waits, reads or writes. Two schedulers never use a node at once by one rule: a node is usable from when a
state of all NodeShards has been *observed* in which this shard claims it and no other does, until it is removed from
this shard's record. Two shards cannot both hold such an observation, because all clients see the states of one kind in
one order, and a shard stops using a node before it removes the node from its record.

So a claim is written before the node is used; of two concurrent claims the first is observed alone by its owner, and
the other one is withdrawn; a node that is released is first left unused, and leaves the record when no bind or eviction
is in progress on it. A term begins with a write that must be observed: only then is this shard's own record not older
than the term.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

Names = frozenset[str]
_NO_NODES: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Record:
    """The contents of an observed NodeShard; versions increase over all NodeShards."""

    version: int
    in_use: Names = _NO_NODES
    to_add: Names = _NO_NODES
    to_remove: Names = _NO_NODES

    def is_same_as(self, other: Record) -> bool:
        return (self.in_use, self.to_add, self.to_remove) == (other.in_use, other.to_add, other.to_remove)


@dataclass(frozen=True, slots=True)
class Write:
    """The desired contents of this shard's record; valid only for that version."""

    based_on: int
    record: Record


@dataclass(slots=True)
class ShardClaims:
    """The claims of one shard, as observed by one process."""

    name: str
    #: The nodes that this shard should have.
    wanted: Names = _NO_NODES
    #: Nodes that this shard holds.
    held: set[str] = field(default_factory=set)
    #: Held nodes whose pods are all known.
    known: set[str] = field(default_factory=set)
    _own: Record | None = None
    _others: dict[str, Names] = field(default_factory=dict)
    #: Writes that may still succeed: all are based on the last observed version.
    _open: list[Write] = field(default_factory=list)
    #: The version of an accepted write, which must be observed before the next one.
    _awaited: int = 0
    _leads: bool = False
    #: Whether a write of this term was observed.
    _is_current: bool = False

    # -- events -------------------------------------------------------------------------------------------------

    def begin_term(self) -> None:
        """Begin a term of this process; nodes of an earlier term must be observed again."""
        self._leads = True
        self._start_over()

    def _start_over(self) -> None:
        self.held.clear()
        self.known.clear()
        self._is_current, self._awaited = False, 0

    def forget_writes(self) -> None:
        """The server was restored: earlier writes cannot succeed any more."""
        self._open.clear()

    def want(self, nodes: Iterable[str]) -> None:
        self.wanted = frozenset(nodes)

    def observe(self, name: str, record: Record | None) -> None:
        """A NodeShard changed or was deleted; nothing else has changed since the last observation."""
        self.stage(name, record)
        self.evaluate()

    def stage(self, name: str, record: Record | None) -> None:
        """Observe a NodeShard in the middle of a list, while the state is inconsistent; `evaluate` follows."""
        if name != self.name:
            if record is None:
                self._others.pop(name, None)
            else:
                self._others[name] = record.in_use
            return
        self._own = record
        if record is None:
            self._start_over()
            self._open.clear()
            return
        self._open = [write for write in self._open if write.based_on >= record.version]
        self.held &= record.in_use
        self.known &= record.in_use

    def evaluate(self) -> None:
        """The observed state is consistent: determine the held nodes."""
        own = self._own
        if own is None or not self._leads:
            return
        if self._awaited and own.version >= self._awaited:
            self._is_current, self._awaited = True, 0
        if self._is_current:
            claimed = own.in_use - self._elsewhere
            for write in self._open:
                claimed &= write.record.in_use
            self.held |= claimed

    def accepted(self, write: Write, version: int) -> None:
        """The server accepted a write and returned this version."""
        if self._own is not None and version > self._own.version and write in self._open:
            self._awaited = version
        elif self._own is not None and version <= self._own.version:
            self._is_current = self._is_current or self._leads
            self.evaluate()

    def rejected(self, write: Write) -> None:
        """Handle a permanently rejected write. A write without a response is not rejected: it may succeed."""
        if write in self._open:
            self._open.remove(write)

    def listed(self, nodes: Collection[str]) -> None:
        """All pods on these nodes are known, as of after the nodes were held."""
        self.known |= self.held & set(nodes)

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def _elsewhere(self) -> Names:
        """The nodes that other shards claim."""
        return frozenset[str]().union(*self._others.values())

    @property
    def usable(self) -> Names:
        """The nodes that may be used now."""
        usable = self.known & self.wanted
        for write in self._open:
            usable &= write.record.in_use
        return frozenset(usable)

    @property
    def unlisted(self) -> Names:
        """Held nodes whose pods are not all known yet."""
        return frozenset(self.held & self.wanted) - self.known

    @property
    def awaited(self) -> Names:
        """Nodes to claim that are not held yet."""
        return self.wanted - self.held

    @property
    def leaving(self) -> Names:
        """Held nodes that this shard is to release."""
        return frozenset(self.held) - self.wanted

    @property
    def is_current(self) -> bool:
        """Report whether this shard's record is of this term."""
        return self._leads and self._is_current

    @property
    def is_missing(self) -> bool:
        """Report whether this shard's NodeShard does not exist."""
        return self._own is None

    def next_write(self, busy: Collection[str]) -> Write | None:
        """Return the next write, if any. On `busy` nodes a bind or an eviction is in progress."""
        own = self._own
        if own is None or not self._leads or self._awaited:
            return None
        staying = {node for node in self.held if node in self.wanted or node in busy}
        in_use = frozenset(staying | (self.wanted - self.held - self._elsewhere))
        record = Record(own.version, in_use, self.wanted - in_use, in_use - self.wanted)
        if self._is_current and record.is_same_as(own) and not self._open:
            return None
        write = Write(own.version, record)
        if write not in self._open:
            self._open.append(write)
        return write
