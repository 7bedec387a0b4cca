"""Sets of host ports, and which of them exclude each other on a node.

A pod may name thousands of ports, but the pods of a template all name the same ones. Nodes therefore count the pods of
each *set*, as they count the pods of each term, and two sets are compared once, however many pods and nodes have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - a name for "every address", nothing is opened


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port on the host. The address 0.0.0.0 means all addresses and conflicts with each of them."""

    protocol: str
    port: int
    address: str = _EVERY_ADDRESS

    def collides_with(self, other: HostPort) -> bool:
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or _EVERY_ADDRESS in (self.address, other.address)


class PortSet:
    """The host ports of a pod. Equal sets are equal and hash alike; the hash is computed once."""

    __slots__ = ("_hash", "_ports", "addressed", "everywhere", "numbers")

    def __init__(self, ports: Iterable[HostPort] = ()) -> None:
        self._ports = tuple(sorted(set(ports), key=lambda port: (port.port, port.protocol, port.address)))
        self._hash = hash(self._ports)
        #: Ports at single addresses; (protocol, port) of those at every address, and of all.
        self.addressed = frozenset(port for port in self._ports if port.address != _EVERY_ADDRESS)
        self.everywhere = frozenset((p.protocol, p.port) for p in self._ports if p.address == _EVERY_ADDRESS)
        self.numbers = self.everywhere.union((port.protocol, port.port) for port in self.addressed)

    def __iter__(self) -> Iterator[HostPort]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, PortSet) and self._ports == other._ports)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        more = f" and {len(self) - 3} more" if len(self) > 3 else ""
        return f"host ports {', '.join(f'{p.address}:{p.port}/{p.protocol}' for p in self._ports[:3])}{more}"

    def excludes(self, other: PortSet) -> bool:
        """Report whether a port of one set collides with a port of the other."""
        return not (
            self.everywhere.isdisjoint(other.numbers)
            and other.everywhere.isdisjoint(self.numbers)
            and self.addressed.isdisjoint(other.addressed)
        )


NO_PORTS = PortSet()


class PortIndex:
    """Sets of ports by number, and for each the numbers of the sets that exclude it, itself included.

    A new set is compared only with those that have one of its ports, which are found by protocol and port.
    """

    __slots__ = ("_excluded", "_known", "_users", "size")

    def __init__(self) -> None:
        self._known: dict[int, PortSet] = {}
        self._excluded: dict[int, list[int]] = {}
        #: By protocol and port, the numbers of the sets that have it.
        self._users: dict[tuple[str, int], list[int]] = {}
        #: Number of ports of all sets.
        self.size = 0

    def add(self, number: int, ports: PortSet) -> None:
        users = self._users
        near: set[int] = set().union(*(users[each] for each in ports.numbers if each in users))
        excluded = [other for other in sorted(near) if ports.excludes(self._known[other])]
        for other in excluded:
            self._excluded[other].append(number)
        self._excluded[number] = [*excluded, number]
        self._known[number] = ports
        self.size += len(ports)
        for each in ports.numbers:
            users.setdefault(each, []).append(number)

    def excluding(self, number: int) -> list[int]:
        """Return the numbers of the sets that exclude this one."""
        return self._excluded[number]
