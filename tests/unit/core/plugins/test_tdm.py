"""Hours of the day, rounds of evictions, and who may go at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.dump.contents import Contents
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.core.plugins.tdm.zones import hours_of
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import configuration, flattened, objects, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import gang, node, queue, running

DAY = 24 * 60

minutes = st.integers(0, DAY - 1)


def written(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


@given(start=minutes, end=minutes, days=st.integers(0, 30_000), second=st.integers(0, DAY * 60 - 1))
def test_hours_cover_the_minutes_of_the_day(start: int, end: int, days: int, second: int) -> None:
    hours = hours_of(f"{written(start)}-{written(end)}")
    length = (end - start) % DAY or DAY
    expected = (second // 60 - start) % DAY < length
    assert hours.has(days * DAY * 60 + second) is expected


@pytest.mark.parametrize("text", ["8:00-9:00", "08:00-09:00", " 20:00-06:00 ", "0:00-23:59"])
def test_valid_hours(text: str) -> None:
    assert hours_of(text).text == text.strip()


@pytest.mark.parametrize("text", ["8-9", "8:00", "25:00-26:00", "08:00-09:00-10:00", "8:0-9:0", "٠٨:٠٠-٠٩:٠٠", ""])
def test_invalid_hours_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="write one such as 20:00-06:00"):
        hours_of(text)


EVENING = 19 * 3600.0


@pytest.mark.parametrize(
    ("period", "later", "rounds"),
    [("1m", 59, 1), ("1m", 60, 2), ("1m", -1, 2), ("10s", 10, 2), ("1h", 3599, 1), ("1h", 3600, 2)],
)
def test_evictions_wait_for_the_period(period: str, later: float, rounds: int) -> None:
    """A clock that was set back does not delay evictions."""
    registry = Registry(PLUGINS, PROBE_ACTIONS)
    arguments = {"tdm.revocable-zone.z": "08:00-18:00", "tdm.evict.period": period}
    program = Program(
        parse_configuration(configuration(plugin("tdm", arguments), actions="evict-victims"), registry), registry
    )
    zone = node("a", labels={"volcano.sh/revocable-zone": "z"})
    soft = running("aa", notes={"volcano.sh/preemptable": "true"})
    contents = Contents(objects(flattened([zone, queue("default"), soft, gang(1, cpu=9, name="waits")])))
    moments = (EVENING, EVENING + later)
    decided = [PlannedCluster.of_contents(contents, program, now).decide().decisions.evictions for now in moments]
    assert sum(bool(evictions) for evictions in decided) == rounds
