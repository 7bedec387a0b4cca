"""SQLite: the default, a file.

The write-ahead log keeps a file intact when the process is killed at any moment, and lets readers read while a batch is
written. A batch is one statement over a JSON document: SQLite runs it without the lock of the interpreter, so that a
scheduling cycle in another thread continues.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stromboli.history.databases.database import BATCH, Column, HistoryError

_BUSY_SECONDS = 10.0


class SqliteDatabase:
    """A connection to a file; with `is_read_only` the file must exist."""

    def __init__(self, path: str, *, is_read_only: bool = False) -> None:
        self.name = path
        self._path = Path(path)
        with self._errors():
            self._connection = self._connect(is_read_only)
            if not is_read_only:
                self._prepare()

    def _connect(self, is_read_only: bool) -> sqlite3.Connection:
        if is_read_only and not self._path.is_file():
            raise HistoryError(f"{self.name}: no such file; a scheduler with --history {self.name} creates it")
        if not is_read_only:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        target = f"file:{quote(str(self._path))}" + ("?mode=ro" if is_read_only else "")
        return sqlite3.connect(target, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        for pragma in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = NORMAL"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def execute(self, statement: str, *parameters: object) -> int:
        with self._errors():
            return self._connection.execute(statement, parameters).rowcount

    def rows(self, statement: str, *parameters: object) -> list[Sequence[Any]]:
        with self._errors():
            return self._connection.execute(statement, parameters).fetchall()

    def batches(self, statement: str, *parameters: object) -> Iterator[list[Sequence[Any]]]:
        with self._errors():
            found = self._connection.execute(statement, parameters)
            while rows := found.fetchmany(BATCH):
                yield rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        self.execute("BEGIN")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def elements(self, columns: Sequence[Column]) -> str:
        selected = ", ".join(f"value->>{place} AS {name}" for place, (name, _) in enumerate(columns))
        return f"(SELECT {selected} FROM json_each(?))"  # noqa: S608 - the names are constants

    def has_table(self, name: str) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name))

    def lock(self) -> None:
        """A transaction that writes excludes all others."""

    def size(self) -> int:
        pages, free, length = (
            int(self.rows(f"PRAGMA {name}")[0][0]) for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * length

    def reclaim(self) -> None:
        self.rows("PRAGMA incremental_vacuum")
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise HistoryError(f"{self.name}: {error}; check the file, its folder and the free space") from error
