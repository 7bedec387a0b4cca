"""Usage is that of the history, and of what pods ran, through 50 kills of the recording process with SIGKILL."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stromboli.history.databases.database import HistoryError
from testbed.postgresql import PostgresqlMissing, PostgresqlServer
from tests.properties.usage.test_usage_through_kills import (
    KILLS,
    assert_everything_is_recorded,
    assert_usage_is_that_of_the_rows,
)
from tests.testing.histories import START

pytestmark = pytest.mark.only("embedded", because="it needs no API server, and runs once")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "history.db")
        return
    try:
        with PostgresqlServer() as server:
            yield server.new_database()
    except PostgresqlMissing as missing:
        pytest.skip(str(missing))


def test_usage_is_exact_through_fifty_kills_of_the_process(address: str, tmp_path: Path) -> None:
    log, moment, checked = tmp_path / "moments", 0.0, 0
    for seed in range(KILLS):
        command = [sys.executable, "-m", "tests.e2e.history.killed_writer", address, str(seed), str(moment), str(log)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == -signal.SIGKILL, done.stderr
        if log.exists():
            moment = float(log.read_text().split()[-1])
        try:
            assert_usage_is_that_of_the_rows(address, START + moment)
            checked += 1
        except HistoryError:  # killed before the tables existed
            assert not checked
    assert moment > 0
    assert checked > KILLS // 2
    assert_everything_is_recorded(address)
