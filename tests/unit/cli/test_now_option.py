"""The current time of a plan: the clock, `--now`, or the time of a dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.testing.cases.case import configuration, flattened, plugin
from tests.testing.manifests.builders import gang_of, node, pod
from tests.unit.cli.conftest import Run

#: Preemptable pods may use the node between 08:00 and 18:00.
CONF = configuration(plugin("tdm", {"tdm.revocable-zone.z": "08:00-18:00"}), actions="allocate")
PREEMPTABLE = {"volcano.sh/preemptable": "true", "volcano.sh/revocable-zone": "*"}
WORLD: list[Any] = list(flattened([
    node("a", labels={"volcano.sh/revocable-zone": "z"}), gang_of(pod(annotations=PREEMPTABLE)),
]))  # fmt: skip
NOON, NIGHT = "2026-01-01T12:00:00Z", "2026-01-01T23:00:00Z"
CASES = [("by day", NOON, 0), ("by night", NIGHT, 3), ("with an offset", "2026-01-02T01:00:00+13:00", 0)]


@pytest.mark.parametrize("command", [["plan"], ["explain", "default/gang"]], ids=" ".join)
@pytest.mark.parametrize(("now", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_now_decides_what_a_time_zone_allows(run: Run, command: list[str], now: str, code: int) -> None:
    Path("night.conf").write_text(CONF)
    assert run(command[0], WORLD, *command[1:], "--conf", "night.conf", "--now", now).exit_code == code


@pytest.mark.parametrize(("clock", "code"), [(12 * 3600.0, 0), (23 * 3600.0, 3)], ids=["by day", "by night"])
def test_default_is_the_clock(run: Run, monkeypatch: pytest.MonkeyPatch, clock: float, code: int) -> None:
    monkeypatch.setattr("time.time", lambda: clock)
    Path("night.conf").write_text(CONF)
    assert run("plan", WORLD, "--conf", "night.conf").exit_code == code


def test_simulation_starts_at_now(run: Run) -> None:
    """The job waits from 23:00 until 08:00."""
    Path("night.conf").write_text(CONF)
    result = run("simulate", WORLD, "--conf", "night.conf", "--now", NIGHT, "--until", "12h", "-o", "json")
    report = json.loads(result.stdout)
    assert report["start"] == NIGHT
    assert report["waits"]["max"] == 9 * 3600.0


@pytest.mark.parametrize("text", ["noon", "12:00", "2026-01-01", "2026-13-01T00:00:00Z"])
def test_invalid_time_is_rejected(run: Run, text: str) -> None:
    result = run("plan", WORLD, "--now", text)
    assert result.exit_code == 2
    assert f"Invalid value for '--now': {text!r} is not a time such as 2026-01-01T12:00:00Z" in result.stderr
