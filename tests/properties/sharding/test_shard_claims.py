"""Several schedulers over one shard record, with delays, losses and crashes: no node has two users.

The server keeps the records and their history; every process sees it later, in order, and sometimes skips a part by a
list. Responses to writes get lost, and writes arrive late. Binds take time, and a scheduler only has the pods that it
was notified of. A crashed process is followed by another one of the same shard with incomplete information, and
possibly by a caretaker before that, which clears the record.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from stromboli.scheduler.sharding.claims import Record, ShardClaims, Write
from tests.testing.random_clusters.effort import examples

SHARDS = ("east", "west", "south")
NODES = ("a", "b", "c")
CAPACITY = 2


@dataclass
class Server:
    """Records with optimistic locking, pods, and the history of records."""

    records: dict[str, Record]
    history: list[tuple[str, Record]] = field(default_factory=list)
    version: int = 1
    pods: Counter[str] = field(default_factory=Counter)

    def write(self, shard: str, write: Write) -> int | None:
        """Return the new version; None for a conflict."""
        if self.records[shard].version != write.based_on:
            return None
        self.version += 1
        self.records[shard] = replace(write.record, version=self.version)
        self.history.append((shard, self.records[shard]))
        return self.version


@dataclass
class Process:
    """A scheduler: what it has observed, and what it has in progress."""

    server: Server
    claims: ShardClaims
    read: int = 0
    sending: Write | None = None
    binding: Counter[str] = field(default_factory=Counter)
    knows: dict[str, int] = field(default_factory=dict)

    def watch(self) -> None:
        if self.read < len(self.server.history):
            self.claims.observe(*self.server.history[self.read])
            self.read += 1

    def list(self, chance: random.Random) -> None:
        """Read all records at once, in any order."""
        records = list(self.server.records.items())
        chance.shuffle(records)
        for name, record in records:
            self.claims.stage(name, record)
        self.claims.evaluate()
        self.read = len(self.server.history)

    @property
    def uses(self) -> set[str]:
        return {*self.claims.usable, *(node for node, number in self.binding.items() if number)}


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a game
        self.server = Server({name: Record(1) for name in SHARDS})
        self.processes = {name: self.born(name) for name in SHARDS}
        #: Writes of crashed processes and of those that timed out, which may still arrive.
        self.late: list[tuple[str, Write]] = []
        self.used_by_any: set[str] = set()

    def born(self, name: str) -> Process:
        """Create a process that has watched for a while, with incomplete information, when it becomes leader."""
        process = Process(self.server, ShardClaims(name))
        for shard in SHARDS:
            process.claims.stage(shard, Record(1))
        for _ in range(self.chance.randint(0, len(self.server.history))):
            process.watch()
        process.claims.begin_term()
        return process

    def step(self) -> None:
        name = self.chance.choice(SHARDS)
        often = (self.watch, self.watch, self.watch, self.send, self.send, self.answer, self.answer, self.bind)
        seldom = (self.desire, self.bound, self.look, self.look, self.end, self.relist, self.arrive, self.die)
        self.chance.choice((*often, *seldom))(name, self.processes[name])
        self.check()

    def check(self) -> None:
        users = Counter(node for process in self.processes.values() for node in process.uses)
        assert all(number == 1 for number in users.values()), users
        assert all(number <= CAPACITY for number in self.server.pods.values())
        self.used_by_any |= {f"{name} {node}" for name, process in self.processes.items() for node in process.uses}

    # -- deeds --------------------------------------------------------------------------------------------------

    def watch(self, name: str, process: Process) -> None:
        process.watch()

    def relist(self, name: str, process: Process) -> None:
        if self.chance.random() < 0.3:
            process.list(self.chance)

    def desire(self, name: str, process: Process) -> None:
        if self.chance.random() < 0.3:
            process.claims.want(self.chance.sample(NODES, self.chance.randint(0, len(NODES))))

    def send(self, name: str, process: Process) -> None:
        busy = [node for node, number in process.binding.items() if number]
        if process.sending is None:
            process.sending = process.claims.next_write(busy)

    def answer(self, name: str, process: Process) -> None:
        write, process.sending = process.sending, None
        if write is None:
            return
        if self.chance.random() < 0.2:
            self.late.append((name, write))  # no response in time: it may arrive later, or never
            return
        version = self.server.write(name, write)
        if self.chance.random() < 0.2:
            return  # the response is lost
        if version is None:
            process.claims.rejected(write)
        else:
            process.claims.accepted(write, version)

    def arrive(self, name: str, process: Process) -> None:
        if self.late:
            self.server.write(*self.late.pop(self.chance.randrange(len(self.late))))

    def look(self, name: str, process: Process) -> None:
        """List pods: the list is of some moment after the request."""
        nodes = process.claims.unlisted
        for node in nodes:
            process.knows[node] = self.server.pods[node]
        process.claims.listed(nodes)

    def bind(self, name: str, process: Process) -> None:
        for node in process.claims.usable:
            if process.knows[node] < CAPACITY:
                process.knows[node] += 1
                process.binding[node] += 1

    def bound(self, name: str, process: Process) -> None:
        for node in [node for node, number in process.binding.items() if number]:
            process.binding[node] -= 1
            self.server.pods[node] += 1

    def end(self, name: str, process: Process) -> None:
        """End a pod; some processes observe it, others may not."""
        node = self.chance.choice(NODES)
        if self.server.pods[node]:
            self.server.pods[node] -= 1
            for other in self.processes.values():
                if node in other.claims.usable and self.chance.random() < 0.5:
                    other.knows[node] -= 1

    def die(self, name: str, process: Process) -> None:
        if self.chance.random() < 0.8:
            return
        if process.sending is not None:
            self.late.append((name, process.sending))
        if self.chance.random() < 0.5:
            self.clear(name)
        self.processes[name] = self.born(name)

    def clear(self, name: str) -> None:
        """A caretaker takes the lease of a crashed process, reads its record, and clears it; possibly late."""
        write = Write(self.server.records[name].version, Record(0))
        if self.chance.random() < 0.5:
            self.late.append((name, write))
        else:
            self.server.write(name, write)

    def calm(self) -> None:
        """Disable faults, and give every process a turn."""
        for _ in range(40):
            for name, process in self.processes.items():
                while process.read < len(self.server.history):
                    process.watch()
                self.look(name, process)
                self.bound(name, process)
                self.send(name, process)
                write, process.sending = process.sending, None
                if write is not None:
                    version = self.server.write(name, write)
                    process.claims.rejected(write) if version is None else process.claims.accepted(write, version)
                self.check()


@examples(120)
@given(st.integers(0, 1 << 32))
def test_no_node_has_two_users(seed: int) -> None:
    world = World(seed)
    for _ in range(400):
        world.step()


@examples(25)
@given(st.integers(0, 1 << 32))
def test_every_shard_finally_owns_its_uncontested_nodes(seed: int) -> None:
    world = World(seed)
    for _ in range(150):
        world.step()
    for name, nodes in zip(SHARDS, ("a", "bc", ""), strict=True):
        world.processes[name].claims.want(nodes)
    world.calm()
    assert {name: "".join(sorted(process.claims.usable)) for name, process in world.processes.items()} == {
        "east": "a", "west": "bc", "south": "",
    }  # fmt: skip
    records = world.server.records
    assert [(sorted(records[name].in_use), records[name].to_add, records[name].to_remove) for name in SHARDS] == [
        (["a"], frozenset(), frozenset()), (["b", "c"], frozenset(), frozenset()), ([], frozenset(), frozenset()),
    ]  # fmt: skip


def test_every_process_uses_every_node_now_and_then() -> None:
    """Every process uses every node now and then: otherwise the properties would prove nothing."""
    world = World(1)
    for _ in range(6000):
        world.step()
    assert len(world.used_by_any) == len(SHARDS) * len(NODES)


def test_contested_node_goes_to_one_shard() -> None:
    world = World(2)
    for process in world.processes.values():
        process.claims.want("abc")
    world.calm()
    assert sorted(node for process in world.processes.values() for node in process.claims.usable) == list(NODES)
