"""PostgreSQL, by DSN: for several schedulers that write one history. The driver is an optional dependency."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from stromboli.history.databases.database import BATCH, Column, HistoryError

_CONNECT_SECONDS = 10
#: A number for the advisory lock of migrations.
_LOCK = 7_385_529_041


class PostgresqlDatabase:
    """A connection to a server. `dsn` may contain a password, which no message shows."""

    def __init__(self, dsn: str, *, is_read_only: bool = False) -> None:
        self.name = _without_password(dsn)
        try:
            import psycopg
        except ImportError as error:
            remedy = "pip install 'stromboli[postgresql]'"
            raise HistoryError(f"{self.name}: the driver of PostgreSQL is not installed: {remedy}") from error
        self._failure: type[Exception] = psycopg.Error
        with self._errors():
            self._connection = psycopg.connect(dsn, autocommit=True, connect_timeout=_CONNECT_SECONDS)
            if is_read_only:
                self._connection.execute("SET default_transaction_read_only = on")

    def execute(self, statement: str, *parameters: object) -> int:
        with self._errors():
            return int(self._connection.execute(_own(statement), parameters).rowcount)

    def rows(self, statement: str, *parameters: object) -> list[Sequence[Any]]:
        with self._errors():
            return list(self._connection.execute(_own(statement), parameters).fetchall())

    def batches(self, statement: str, *parameters: object) -> Iterator[list[Sequence[Any]]]:
        with self._errors(), self._connection.transaction(), self._connection.cursor(name="batches") as cursor:
            cursor.execute(_own(statement), parameters)
            while rows := cursor.fetchmany(BATCH):
                yield list(rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self._errors(), self._connection.transaction():
            yield

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.transaction():
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield

    def elements(self, columns: Sequence[Column]) -> str:
        selected = ", ".join(f"(e->>{place})::{kind} AS {name}" for place, (name, kind) in enumerate(columns))
        return f"(SELECT {selected} FROM json_array_elements(?::json) AS e)"  # noqa: S608 - the names are constants

    def has_table(self, name: str) -> bool:
        return self.rows("SELECT to_regclass(?)", name)[0][0] is not None

    def lock(self) -> None:
        self.rows("SELECT pg_advisory_xact_lock(?)", _LOCK)

    def size(self) -> int:
        """Return the size of the rows: the files do not shrink when rows are deleted."""
        tables = ("jobs", "pods", "accounts", "budget_thresholds")
        sums = (f"(SELECT COALESCE(sum(pg_column_size(t.*)), 0) FROM {table} AS t)" for table in tables)  # noqa: S608
        return int(self.rows(f"SELECT {' + '.join(sums)}")[0][0])

    def reclaim(self) -> None:
        """Make the space of deleted rows available to new ones; the files do not shrink."""
        self.execute("VACUUM (TRUNCATE) jobs, pods")

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._failure as error:
            problem = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise HistoryError(f"{self.name}: {problem}") from error


def _own(statement: str) -> str:
    """Return a statement with the placeholders of the driver."""
    return statement.replace("%", "%%").replace("?", "%s")


def _without_password(dsn: str) -> str:
    scheme, separator, rest = dsn.partition("://")
    account, at, host = rest.rpartition("@")
    user = account.partition(":")[0]
    return f"{scheme}{separator}{user}{at}{host.partition('?')[0]}"
