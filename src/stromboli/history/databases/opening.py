"""A database by its address: a path is a file of SQLite, a DSN names a PostgreSQL server."""

from __future__ import annotations

from stromboli.history.databases.database import Database, HistoryError
from stromboli.history.schema import check_version, migrate

_POSTGRESQL = ("postgresql", "postgres")


def check_address(address: str) -> None:
    """Raise HistoryError for an address that names no database."""
    scheme, separator, _ = address.partition("://")
    if separator and scheme not in _POSTGRESQL:
        raise HistoryError(
            f"{scheme}:// is no database that can hold a history; write a path or postgresql://HOST/NAME"
        )


def open_for_writing(address: str) -> Database:
    """Connect, and bring the tables to the present version. Raises HistoryError."""
    database = _connect(address, is_read_only=False)
    try:
        migrate(database)
    except HistoryError:
        database.close()
        raise
    return database


def open_for_reading(address: str) -> Database:
    """Connect to an existing history. Raises HistoryError."""
    database = _connect(address, is_read_only=True)
    try:
        check_version(database)
    except HistoryError:
        database.close()
        raise
    return database


def _connect(address: str, *, is_read_only: bool) -> Database:
    check_address(address)
    if "://" in address:
        from stromboli.history.databases.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(address, is_read_only=is_read_only)
    from stromboli.history.databases.sqlite import SqliteDatabase

    return SqliteDatabase(address, is_read_only=is_read_only)
