"""What accounts have used by a moment, summed up by queue, user and namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

UsageVector = NDArray[np.float64]
"""Amounts times seconds, by the dimensions of an axis."""


@dataclass(frozen=True, slots=True)
class Account:
    """What pods of the same queue, namespace, user and requests are charged to."""

    queue: str
    namespace: str
    #: Empty if it is unknown.
    user: str
    #: Amounts by resource name, in the units of the resource axis.
    requests: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class PlaceNumbers:
    """Numbers of keys, and the number of each account's key."""

    numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    of_account: list[int] = field(default_factory=list)

    def add(self, *key: str) -> None:
        self.of_account.append(self.numbers.setdefault(key, len(self.numbers)))


class AccountTable:
    """All accounts, numbered in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[Account, int] = {}
        self.accounts: list[Account] = []
        self.names: dict[str, int] = {}
        self.queues, self.users, self.namespaces = PlaceNumbers(), PlaceNumbers(), PlaceNumbers()
        self._amounts: UsageVector = np.zeros((0, 0))
        #: By queues, user and namespace: the number of accounts that were looked at, and those that match.
        self._rows: dict[tuple[tuple[str, ...], str | None, str | None], tuple[int, list[int]]] = {}

    def __len__(self) -> int:
        return len(self.accounts)

    def number(self, account: Account) -> int:
        known = self._numbers.get(account)
        return self._add(account) if known is None else known

    def _add(self, account: Account) -> int:
        number = self._numbers[account] = len(self.accounts)
        self.accounts.append(account)
        self.queues.add(account.queue)
        self.users.add(account.queue, account.user)
        self.namespaces.add(account.namespace)
        for name, _ in account.requests:
            self.names.setdefault(name, len(self.names))
        return number

    def rows_of(self, queues: tuple[str, ...], user: str | None, namespace: str | None) -> Sequence[int]:
        """Return the accounts of queues, of a user and of a namespace; None stands for all."""
        seen, rows = self._rows.get((queues, user, namespace), (0, []))
        for row in range(seen, len(self.accounts)):
            account = self.accounts[row]
            if account.queue in queues and user in (None, account.user) and namespace in (None, account.namespace):
                rows.append(row)
        self._rows[queues, user, namespace] = len(self.accounts), rows
        return rows

    @property
    def amounts(self) -> UsageVector:
        """The request of every account, by the numbers of resource names."""
        rows, columns = self._amounts.shape
        if rows < len(self.accounts):
            grown = np.zeros((len(self.accounts), len(self.names)))
            grown[:rows, :columns] = self._amounts
            for row, account in enumerate(self.accounts[rows:], rows):
                for name, amount in account.requests:
                    grown[row, self.names[name]] = amount
            self._amounts = grown
        return self._amounts


class PastUsage:
    """Resource-seconds by queue, user of a queue, and namespace. Sums are calculated when they are first read.

    `seconds` are pod-seconds of each account of the table; `dimensions` maps resource names to an axis of `size`.
    """

    def __init__(
        self, table: AccountTable, seconds: UsageVector, dimensions: Mapping[str, int | None], size: int
    ) -> None:
        self._table = table
        self._seconds = seconds
        self._dimensions = dimensions
        self._nothing = np.zeros(size)

    @classmethod
    def empty(cls, size: int) -> PastUsage:
        return cls(AccountTable(), np.zeros(0), {}, size)

    def of(self, queues: Sequence[str], user: str | None = None, namespace: str | None = None) -> UsageVector:
        """Return what was charged to any of these queues, of one user and of one namespace if they are named. An empty
        user is that of unknown users.
        """
        rows = [row for row in self._table.rows_of(tuple(queues), user, namespace) if row < len(self._seconds)]
        found: UsageVector = self._used[rows].sum(axis=0)
        return found

    def queue(self, name: str) -> UsageVector:
        """Return what was charged to a queue itself, without its descendants."""
        return self._queues.get((name,), self._nothing)

    def user(self, queue: str, name: str) -> UsageVector:
        """Return what was charged to a user in a queue; an empty name is that of unknown users."""
        return self._users.get((queue, name), self._nothing)

    def namespace(self, name: str) -> UsageVector:
        return self._namespaces.get((name,), self._nothing)

    @property
    def queues(self) -> Sequence[str]:
        """The queues that have been used."""
        return [name for (name,) in self._queues]

    def users_of(self, queue: str) -> Sequence[str]:
        """Return the users who have used a queue."""
        return [user for name, user in self._users if name == queue]

    @cached_property
    def total(self) -> UsageVector:
        return sum(self._queues.values(), self._nothing)

    @cached_property
    def _queues(self) -> dict[tuple[str, ...], UsageVector]:
        return self._sums(self._table.queues)

    @cached_property
    def _users(self) -> dict[tuple[str, ...], UsageVector]:
        return self._sums(self._table.users)

    @cached_property
    def _namespaces(self) -> dict[tuple[str, ...], UsageVector]:
        return self._sums(self._table.namespaces)

    @cached_property
    def _used(self) -> UsageVector:
        """Amounts times seconds of every account, along the axis."""
        number, size = len(self._seconds), len(self._nothing)
        used = np.zeros((number, size))
        for name, column in self._table.names.items():
            dimension = self._dimensions.get(name)
            if dimension is not None and dimension < size:
                used[:, dimension] = self._table.amounts[:number, column] * self._seconds
        return used

    def _sums(self, places: PlaceNumbers) -> dict[tuple[str, ...], UsageVector]:
        sums = np.zeros((len(places.numbers), len(self._nothing)))
        np.add.at(sums, places.of_account[: len(self._seconds)], self._used)
        return {key: sums[number] for key, number in places.numbers.items()}
