"""Schedules have the times at which Kubernetes' and Volcano's controllers start runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.workloads.cron.schedules import CronSchedule, parse_schedule

NOW = "2026-11-19T01:47:30"
NEXT = [
    ("every minute", "* * * * *", "", NOW, "2026-11-19T01:48:00"),
    ("time of the day", "0 3 * * *", "", NOW, "2026-11-19T03:00:00"),
    ("exactly now is the next one", "47 1 * * *", "", "2026-11-19T01:47:00", "2026-11-20T01:47:00"),
    ("step", "*/20 * * * *", "", NOW, "2026-11-19T02:00:00"),
    ("step from a value", "50/5 2 * * *", "", NOW, "2026-11-19T02:50:00"),
    ("range and list", "0 9-17/4,22 * * *", "", "2026-11-19T13:30:00", "2026-11-19T17:00:00"),
    ("names", "0 0 * JAN mon", "", NOW, "2027-01-04T00:00:00"),
    ("both days restricted: one is enough", "0 0 13 * fri", "", NOW, "2026-11-20T00:00:00"),
    ("one day open: both match", "0 0 13 * *", "", NOW, "2026-12-13T00:00:00"),
    ("step on days restricts", "0 0 */30 * sat", "", NOW, "2026-11-21T00:00:00"),
    ("question mark", "0 0 ? * 0", "", NOW, "2026-11-22T00:00:00"),
    ("leap day", "0 0 29 2 *", "", NOW, "2028-02-29T00:00:00"),
    ("daily", "@daily", "", NOW, "2026-11-20T00:00:00"),
    ("every", "@every 1h30m", "", NOW, "2026-11-19T03:17:30"),
    ("time zone", "0 3 * * *", "Asia/Tokyo", NOW, "2026-11-19T18:00:00"),
    ("time left out by summer time", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", "2026-03-30T00:30:00"),
    ("time that occurs twice", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00", "2026-10-25T01:30:00"),
]  # fmt: skip


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "zone", "now", "expected"), [case[1:] for case in NEXT], ids=[case[0] for case in NEXT]
)
def test_next_time(text: str, zone: str, now: str, expected: str) -> None:
    schedule = parse_schedule(text, zone)
    assert schedule.next_after(at(now)) == at(expected)
    assert schedule.last_until(at(now), at(expected)) == at(expected)


def test_day_that_does_not_exist_has_no_time() -> None:
    assert parse_schedule("0 0 30 2 *").next_after(at(NOW)) is None


INVALID = [
    ("* * * *", "", "does not have five fields"),
    ("0 0 * * * *", "", "does not have five fields"),
    ("60 * * * *", "", "minute: '60' is not from 0 to 59"),
    ("* * 0 * *", "", "day of the month: '0' is not from 1 to 31"),
    ("* * * * 7", "", "day of the week: '7' is not from 0 to 6"),
    ("5-2 * * * *", "", "ends before it begins"),
    ("*/0 * * * *", "", "the step of '\\*/0' is 0"),
    ("a-b-c * * * *", "", "minute: 'a-b-c' is not a value"),
    ("@sometimes", "", "is not one of @annually"),
    ("@every soon", "", "is not a duration"),
    (f"@every 1{400 * '0'}h", "", "is not a duration"),
    ("0 3 * * *", "Mars/Base", "time zone 'Mars/Base' is unknown"),
    ("0 3 * * *", "../etc", "time zone '../etc' is unknown"),
]


@pytest.mark.parametrize(("text", "zone", "message"), INVALID)
def test_invalid_schedule_is_reported(text: str, zone: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_schedule(text, zone)


@given(
    st.sampled_from(["* * * * *", "*/7 1-3 * * *", "0 0 * * *"]),
    st.sampled_from(["", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Antarctica/Troll", "Pacific/Apia"]),
    st.datetimes(datetime(2005, 1, 1), datetime(2035, 1, 1)),
)
def test_times_are_those_that_local_clocks_show(text: str, zone: str, start: datetime) -> None:
    schedule = parse_schedule(text, zone)
    found, now = schedule.next_after(start.replace(tzinfo=UTC).timestamp()), start.replace(tzinfo=UTC, second=0)
    while not _matches(schedule, (now := now + timedelta(minutes=1)).astimezone(schedule.zone)):
        pass
    assert found == now.replace(microsecond=0).timestamp()


def _matches(schedule: CronSchedule, local: datetime) -> bool:
    return local.minute in schedule.minutes and local.hour in schedule.hours


@given(
    st.sampled_from(["*/7 * * * *", "15 1,13 * * 1-5", "0 0 1 */2 *", "30 2 * * *"]),
    st.sampled_from(["", "America/New_York", "Australia/Lord_Howe"]),
    st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)),
)
def test_next_time_is_the_first_minute_that_matches(text: str, zone: str, start: datetime) -> None:
    """Times are in order: nothing lies between a time and the next one, and the last one until it is itself."""
    schedule = parse_schedule(text, zone)
    now = start.replace(tzinfo=UTC).timestamp()
    following = schedule.next_after(now)
    assert following is not None
    assert following > now
    assert schedule.last_until(now, following) == following
    assert schedule.last_until(now, following - 1) is None
    assert schedule.next_after(following - timedelta(seconds=1).total_seconds()) == following
