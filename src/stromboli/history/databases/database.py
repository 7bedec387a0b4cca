"""What a history needs of a database. Statements use `?` for parameters, and SQL that both databases understand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

#: Rows of a part of a large query.
BATCH = 20_000

Column = tuple[str, str]
"""Name and type of a column: TEXT, BIGINT or DOUBLE PRECISION."""


class HistoryError(Exception):
    """The database cannot be used, as it is or at present. The message names it, and what to do."""


class Database(Protocol):
    """A connection, used by one thread. Every method raises HistoryError."""

    @property
    def name(self) -> str:
        """The database without credentials, for messages."""

    def execute(self, statement: str, *parameters: object) -> int:
        """Run a statement; return the number of changed rows."""

    def rows(self, statement: str, *parameters: object) -> list[Sequence[Any]]:
        """Return the rows of a query."""

    def batches(self, statement: str, *parameters: object) -> Iterator[list[Sequence[Any]]]:
        """Return the rows of a large query in parts, so that they are never in memory together."""

    def transaction(self) -> AbstractContextManager[None]:
        """Commit at the end, or roll back at an error."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Read several queries from the same state, whatever is written meanwhile."""

    def elements(self, columns: Sequence[Column]) -> str:
        """Return a table expression for one parameter: a JSON array of arrays, whose elements are these columns."""

    def has_table(self, name: str) -> bool:
        """Report whether a table exists."""

    def lock(self) -> None:
        """Keep other processes from migrating, and from adding accounts, until the end of the transaction."""

    def size(self) -> int:
        """Return the bytes in use."""

    def reclaim(self) -> None:
        """Return the space of deleted rows, as far as the database does not do so by itself."""

    def close(self) -> None: ...
