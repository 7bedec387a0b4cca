"""Several schedulers over one record of shards, with everything late, lost, or dead: no node has two users.

The server keeps the records and one history of them; everybody sees it later, in order, and now and then jumps over a
part of it by a list. Answers to writes get lost, and writes come late. Binds take their time, and a scheduler knows of
pods only what it was told. Whoever dies is followed by another process of the same shard, which may have seen little
yet, and before that perhaps by a caretaker, who clears the record of the dead.
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
ROOM = 2


@dataclass
class Server:
    """Records with optimistic locking, pods, and the history of records."""

    records: dict[str, Record]
    history: list[tuple[str, Record]] = field(default_factory=list)
    version: int = 1
    pods: Counter[str] = field(default_factory=Counter)

    def write(self, shard: str, write: Write) -> int | None:
        """The new version; None for a conflict."""
        if self.records[shard].version != write.based_on:
            return None
        self.version += 1
        self.records[shard] = replace(write.record, version=self.version)
        self.history.append((shard, self.records[shard]))
        return self.version


@dataclass
class Process:
    """A scheduler: what it was told, and what it has under way."""

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
        """All records at once, in any order."""
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
        #: Writes of the dead and of those who gave up waiting, which may still arrive.
        self.late: list[tuple[str, Write]] = []
        self.everybody_used: set[str] = set()

    def born(self, name: str) -> Process:
        """It has watched for a while, and has not seen everything yet when it begins to lead."""
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
        assert all(number <= ROOM for number in self.server.pods.values())
        self.everybody_used |= {f"{name} {node}" for name, process in self.processes.items() for node in process.uses}

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
            self.late.append((name, write))  # no answer in time: it may come true later, or never
            return
        version = self.server.write(name, write)
        if self.chance.random() < 0.2:
            return  # the answer is lost
        if version is None:
            process.claims.rejected(write)
        else:
            process.claims.accepted(write, version)

    def arrive(self, name: str, process: Process) -> None:
        if self.late:
            self.server.write(*self.late.pop(self.chance.randrange(len(self.late))))

    def look(self, name: str, process: Process) -> None:
        """Pods are listed: the list is of some moment after it was asked for."""
        nodes = process.claims.unlisted
        for node in nodes:
            process.knows[node] = self.server.pods[node]
        process.claims.listed(nodes)

    def bind(self, name: str, process: Process) -> None:
        for node in process.claims.usable:
            if process.knows[node] < ROOM:
                process.knows[node] += 1
                process.binding[node] += 1

    def bound(self, name: str, process: Process) -> None:
        for node in [node for node, number in process.binding.items() if number]:
            process.binding[node] -= 1
            self.server.pods[node] += 1

    def end(self, name: str, process: Process) -> None:
        """A pod ends; somebody who knows of it sees that, somebody else may not."""
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
        """A caretaker has the lease of the dead, reads its record, and writes that it uses nothing; perhaps late."""
        write = Write(self.server.records[name].version, Record(0))
        if self.chance.random() < 0.5:
            self.late.append((name, write))
        else:
            self.server.write(name, write)

    def calm(self) -> None:
        """Nothing goes wrong any more, and everybody has a turn."""
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
def test_in_the_end_everybody_has_what_nobody_else_wants(seed: int) -> None:
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


def test_the_game_is_worth_playing() -> None:
    """Everybody gets to use every node now and then: otherwise the properties would say nothing."""
    world = World(1)
    for _ in range(6000):
        world.step()
    assert len(world.everybody_used) == len(SHARDS) * len(NODES)


def test_of_two_who_want_a_node_one_gets_it() -> None:
    world = World(2)
    for process in world.processes.values():
        process.claims.want("abc")
    world.calm()
    assert sorted(node for process in world.processes.values() for node in process.claims.usable) == list(NODES)
