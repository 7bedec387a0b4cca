"""Where `stromboli up` leaves its kubeconfig: a file of its own, and never over somebody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.local.api_server.server import ApiServer

#: How a file of ours begins; no other is written over.
MARK = "# Made by stromboli up for a cluster that ends with it.\n"


def state_folder() -> Path:
    """The folder of the command itself, where a user's programs keep what need not survive."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "stromboli"


def check_kubeconfig_path(path: Path) -> None:
    """Whether a kubeconfig may be written here. Ends the command if the place belongs to somebody else."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            beginning = file.read(len(MARK))
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failure(f"{path}: cannot be written ({error.strerror}); name another file") from error
    if beginning and beginning != MARK:
        raise Failure(f"{path}: exists and was not made by stromboli up; name another file with --kubeconfig")


@contextmanager
def temporary_kubeconfig(server: ApiServer, path: Path) -> Iterator[Path]:
    """The kubeconfig of a server, for as long as it is of use."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = MARK + server.kubeconfig()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(content)
    except OSError as error:
        raise Failure(f"{path}: cannot be written ({error.strerror}); name another file with --kubeconfig") from error
    try:
        yield path
    finally:
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") == content:
            path.unlink()
