"""Which nodes are surely ours: what is seen of NodeShards goes in, what to write about ours comes out.

Nothing here waits, asks or writes. The rule by which two schedulers never use a node at once is one sentence: a node is
ours from when we have *seen* a state of all NodeShards in which ours claims it and no other does, for as long as we do
not take it out of ours. Two of them cannot both have seen such a state while both still hold to it, because the states
of one kind come in one order for everybody, and whoever takes a node out of its record has stopped using it before.

So a claim is written before the node is used; of two claims that cross each other the first is seen alone by its owner,
and the other one is withdrawn; a node that is to be given up is first left alone, and leaves the record when nothing is
under way on it. A term begins with a write that must come back: only then is what we see of ourselves not older than
the term.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

Names = frozenset[str]
_NOBODY: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Record:
    """What a NodeShard said when it was seen; versions count up over all NodeShards."""

    version: int
    in_use: Names = _NOBODY
    to_add: Names = _NOBODY
    to_remove: Names = _NOBODY

    def says_the_same(self, other: Record) -> bool:
        return (self.in_use, self.to_add, self.to_remove) == (other.in_use, other.to_add, other.to_remove)


@dataclass(frozen=True, slots=True)
class Write:
    """What our record should say. It must be refused if the record is not of that version any more."""

    based_on: int
    record: Record


@dataclass(slots=True)
class ShardClaims:
    """The claims of one shard, as one process knows them."""

    name: str
    #: The nodes that we should have.
    wanted: Names = _NOBODY
    #: Nodes that are ours.
    held: set[str] = field(default_factory=set)
    #: Those of them on which we know of all pods.
    known: set[str] = field(default_factory=set)
    _own: Record | None = None
    _others: dict[str, Names] = field(default_factory=dict)
    #: Writes that may still become true: all are based on the version that was seen last.
    _open: list[Write] = field(default_factory=list)
    #: A write that was accepted has this version, and has to be seen before anything else is written.
    _awaited: int = 0
    _leads: bool = False
    #: Whether a write of this term was seen.
    _is_current: bool = False

    # -- what happens -------------------------------------------------------------------------------------------

    def begin_term(self) -> None:
        """We lead from now on. What was ours in another term has to be seen again."""
        self._leads = True
        self._start_over()

    def _start_over(self) -> None:
        self.held.clear()
        self.known.clear()
        self._is_current, self._awaited = False, 0

    def forget_writes(self) -> None:
        """The server has begun anew: nothing that was sent before can come true."""
        self._open.clear()

    def want(self, nodes: Iterable[str]) -> None:
        self.wanted = frozenset(nodes)

    def saw(self, name: str, record: Record | None) -> None:
        """A NodeShard changed, or is gone; nothing else has changed since the last one was seen."""
        self.heard(name, record)
        self.look()

    def heard(self, name: str, record: Record | None) -> None:
        """The same in the middle of a list, when what is known is of no one moment. `look` has to follow its end."""
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

    def look(self) -> None:
        """What is known is a state that all NodeShards had at one moment: which nodes are ours by it?"""
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
        """The server took a write, and this is what it made of it."""
        if self._own is not None and version > self._own.version and write in self._open:
            self._awaited = version
        elif self._own is not None and version <= self._own.version:
            self._is_current = self._is_current or self._leads
            self.look()

    def refused(self, write: Write) -> None:
        """The server did not take it, and never will. A write without an answer is no such one: it may come true."""
        if write in self._open:
            self._open.remove(write)

    def listed(self, nodes: Collection[str]) -> None:
        """All pods on these nodes are known, as they were after the nodes had become ours."""
        self.known |= self.held & set(nodes)

    # -- what follows -------------------------------------------------------------------------------------------

    @property
    def _elsewhere(self) -> Names:
        """The nodes that others claim."""
        return frozenset[str]().union(*self._others.values())

    @property
    def usable(self) -> Names:
        """The nodes on which something may be decided now."""
        usable = self.known & self.wanted
        for write in self._open:
            usable &= write.record.in_use
        return frozenset(usable)

    @property
    def unlisted(self) -> Names:
        """Nodes that are ours, and of which we do not know all pods yet."""
        return frozenset(self.held & self.wanted) - self.known

    @property
    def awaited(self) -> Names:
        """Nodes that should be ours and are not."""
        return self.wanted - self.held

    @property
    def leaving(self) -> Names:
        """Nodes that are ours, and should not be."""
        return frozenset(self.held) - self.wanted

    @property
    def is_current(self) -> bool:
        """Whether what is known of our own record is of this term."""
        return self._leads and self._is_current

    @property
    def is_missing(self) -> bool:
        """Whether our NodeShard does not exist."""
        return self._own is None

    def next_write(self, busy: Collection[str]) -> Write | None:
        """What has to be written now, if anything. On `busy` nodes something of ours is still under way."""
        own = self._own
        if own is None or not self._leads or self._awaited:
            return None
        staying = {node for node in self.held if node in self.wanted or node in busy}
        in_use = frozenset(staying | (self.wanted - self.held - self._elsewhere))
        record = Record(own.version, in_use, self.wanted - in_use, in_use - self.wanted)
        if self._is_current and record.says_the_same(own) and not self._open:
            return None
        write = Write(own.version, record)
        if write not in self._open:
            self._open.append(write)
        return write
