"""A process that records usage until it kills itself with SIGKILL: at a statement, or at any instruction.

python -m tests.e2e.history.killed_writer ADDRESS SEED MOMENT LOG
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from stromboli.history.databases.database import Database
from stromboli.history.databases.opening import open_for_writing
from stromboli.history.writer import HistoryWriter
from tests.properties.usage.test_usage_through_kills import report_forever
from tests.testing.histories import UNBOUNDED


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(address: str, seed: int, moment: float, log: Path) -> None:
    """Report what is known at each moment, beginning with this one. The last line of the log is the last moment."""
    chance = random.Random(seed)  # noqa: S311
    statements, is_done, is_timed = chance.randrange(1, 60), chance.random() < 0.5, chance.random() < 0.4
    delay = chance.uniform(0.0, 0.05)

    def connect(address: str) -> Database:
        database: Any = open_for_writing(address)
        execute = database.execute

        def counted(*arguments: Any) -> int:
            nonlocal statements
            statements -= 1
            if not is_timed and statements < 0 and not is_done:
                kill()
            done: int = execute(*arguments)
            if not is_timed and statements < 0:
                kill()
            return done

        database.execute = counted
        if is_timed:
            threading.Timer(delay, kill).start()
        found: Database = database
        return found

    writer = HistoryWriter(address, UNBOUNDED, connect=connect)
    with log.open("a", buffering=1) as lines:
        for now in report_forever(writer, chance, moment):
            lines.write(f"{now}\n")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
