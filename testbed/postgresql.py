"""A PostgreSQL server for tests: the distribution's package, a temporary folder, a Unix socket instead of a port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

INSTALL = "no PostgreSQL server is installed; on Debian: apt-get install postgresql"
_USER = "stromboli"


class PostgresqlMissing(RuntimeError):
    """There is no server on this machine; the message is the remedy."""


def server_programs() -> Path:
    """Return the folder with the programs of the newest server. Raises PostgresqlMissing."""
    packaged = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if packaged:
        return max(packaged, key=lambda folder: float(folder.parent.name))
    if initdb := shutil.which("initdb"):
        return Path(initdb).parent
    raise PostgresqlMissing(INSTALL)


class PostgresqlServer:
    """A running server, as a context. Raises PostgresqlMissing."""

    def __init__(self) -> None:
        self._programs = server_programs()
        self._account = _account()
        self._databases = 0

    def __enter__(self) -> PostgresqlServer:
        self._folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
        if self._account is not None:
            os.chown(self._folder, pwd.getpwnam(self._account).pw_uid, -1)
        self._run("initdb", "-D", self._folder / "data", "-A", "trust", "-U", _USER, "--no-sync")
        self._start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._control("-m", "immediate", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)

    def new_database(self) -> str:
        """Create a database; return its DSN."""
        self._databases += 1
        name = f"history_{self._databases}"
        self._run("createdb", "-h", self._folder, "-U", _USER, name)
        return f"postgresql://{_USER}@/{name}?host={self._folder}"

    def restart(self, stopped: Callable[[], None]) -> None:
        """Stop the server, call a function, and start it again."""
        self._control("-m", "fast", "stop")
        stopped()
        self._start()

    def _start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories={self._folder} -c fsync=off"
        self._control("-o", options, "-l", self._folder / "log", "start")

    def _control(self, *arguments: str | Path) -> None:
        self._run("pg_ctl", "-D", self._folder / "data", "-w", "-s", *arguments)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [self._programs / program, *arguments]
        subprocess.run(
            command, check=True, user=self._account, cwd=self._folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _account() -> str | None:
    """Return the account of the server, which does not run as root; None for that of this process."""
    if os.geteuid() != 0:
        return None
    return "postgres"  # made by the package
