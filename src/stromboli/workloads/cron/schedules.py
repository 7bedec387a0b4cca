"""Times of a cron expression, with the rules of the parser that Kubernetes' and Volcano's controllers use.

Five fields with lists, ranges, steps and names; `@daily` and its kind; `@every DURATION`. Local times that a change of
the clock leaves out are left out, and those that occur twice occur twice.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ENTRY = re.compile(r"(\*|\?|\w+)(?:-(\w+))?(?:/(\d+))?")
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
#: 29 February of a leap year is the rarest day: at most eight years apart.
_MAX_DAYS = 366 * 9


class _Field(NamedTuple):
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()


_MONTHS = tuple(each.lower() for each in calendar.month_abbr)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _DAYS),
)


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A parsed schedule in its time zone."""

    minutes: Collection[int]
    hours: Collection[int]
    days: Collection[int]
    months: Collection[int]
    weekdays: Collection[int]
    #: Whether one of the two fields for days allows all: then a day must match both, otherwise one of them.
    matches_both: bool
    zone: tzinfo = UTC
    #: Seconds between runs, of `@every`; 0 for fields.
    every: float = 0

    def next_after(self, moment: float) -> float | None:
        """Return the first time after this one; None if there is none, as for 30 February."""
        if self.every:
            return float(int(moment) + self.every)
        day = datetime.fromtimestamp(moment, self.zone).date()
        for _ in range(_MAX_DAYS):
            if self._is_on(day) and (found := next((each for each in self._times(day) if each > moment), None)):
                return found
            day += timedelta(days=1)
        return None

    def last_until(self, earliest: float, moment: float) -> float | None:
        """Return the last time after `earliest` and not after `moment`."""
        if self.every:
            runs = int((moment - earliest) // self.every)
            return earliest + runs * self.every if runs > 0 else None
        day = datetime.fromtimestamp(moment, self.zone).date()
        first = max(datetime.fromtimestamp(earliest, self.zone).date(), day - timedelta(days=_MAX_DAYS))
        while day >= first:
            times = [each for each in self._times(day) if earliest < each <= moment] if self._is_on(day) else []
            if times:
                return times[-1]
            day -= timedelta(days=1)
        return None

    def _is_on(self, day: date) -> bool:
        of_month, of_week = day.day in self.days, (day.weekday() + 1) % 7 in self.weekdays
        return day.month in self.months and (of_month and of_week if self.matches_both else of_month or of_week)

    def _times(self, day: date) -> list[float]:
        """Return the times of a day. Only on days when clocks change they do not follow from the first moment."""
        midnights = [self._midnight(each, fold) for each in (day, day + timedelta(days=1)) for fold in (0, 1)]
        if len({each.utcoffset() for each in midnights}) == 1:
            start = midnights[0].timestamp()
            return sorted([start + 3600.0 * hour + 60.0 * minute for hour in self.hours for minute in self.minutes])
        return sorted(
            {moment for hour in self.hours for minute in self.minutes for moment in self._at(day, hour, minute)}
        )

    def _midnight(self, day: date, fold: int) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=self.zone, fold=fold)

    def _at(self, day: date, hour: int, minute: int) -> Iterator[float]:
        """Yield the times with this local time: none or two when clocks change."""
        for fold in (0, 1):
            local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone, fold=fold)
            moment = local.timestamp()
            if datetime.fromtimestamp(moment, self.zone).replace(tzinfo=None) == local.replace(tzinfo=None):
                yield moment


def parse_schedule(text: str, zone: str = "") -> CronSchedule:
    """Parse a schedule in a time zone, by default UTC. Raises ValueError with the expected format."""
    place = time_zone(zone)
    if text.startswith("@every "):
        return CronSchedule((), (), (), (), (), matches_both=False, zone=place, every=_duration(text[7:].strip()))
    if text.startswith("@") and text not in _MACROS:
        raise ValueError(f"{text[:64]!r} is not one of {', '.join(sorted(_MACROS))}, @every 1h")
    parts = _MACROS.get(text, text).split()
    if len(text) > 256 or len(parts) != len(_FIELDS):
        raise ValueError(f"{text[:64]!r} does not have five fields; write one such as '0 3 * * *'")
    minutes, hours, days, months, weekdays = (_values(field, part) for field, part in zip(_FIELDS, parts, strict=True))
    allows_all = any(_is_open(entry) for part in (parts[2], parts[4]) for entry in part.split(","))
    return CronSchedule(minutes, hours, days, months, weekdays, matches_both=allows_all, zone=place)


def time_zone(name: str) -> tzinfo:
    """Return a time zone by its name in the IANA database. Raises ValueError."""
    if not name:
        return UTC
    try:
        if name == "Local":
            raise ValueError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError(f"time zone {name[:64]!r} is unknown; write one such as Europe/Berlin") from None


def _duration(text: str) -> float:
    found = _DURATION.fullmatch(text) if len(text) <= 64 else None
    seconds = (
        sum(int(part) * unit for part, unit in zip(found.groups(), _UNITS.values(), strict=True) if part)
        if found
        else 0
    )
    if not 1 <= seconds <= 100 * 365 * 24 * 3600:
        raise ValueError(f"@every {text[:64]!r} is not a duration; write one such as @every 1h30m")
    return seconds


def _is_open(entry: str) -> bool:
    """Report whether an entry allows all values; a step above one does not."""
    return entry in ("*", "?", "*/1", "?/1")


def _values(field: _Field, text: str) -> frozenset[int]:
    return frozenset(value for entry in text.split(",") for value in _range(field, entry))


def _range(field: _Field, entry: str) -> range:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise ValueError(f"{field.name}: {entry[:32]!r} is not a value, a range such as 1-5, or a step such as */2")
    first, last, step = found.groups()
    width = int(step) if step and len(step) < 9 else 1
    if step and not width:
        raise ValueError(f"{field.name}: the step of {entry!r} is 0; write at least 1")
    if first in ("*", "?"):
        low, high = field.first, field.last
        if last:
            raise ValueError(f"{field.name}: {entry!r} is not a range; write one such as 1-5")
    else:
        low = _value(field, first)
        high = _value(field, last) if last else field.last if step else low
    if low > high:
        raise ValueError(f"{field.name}: {entry!r} ends before it begins; write the lower value first")
    return range(low, high + 1, width)


def _value(field: _Field, text: str) -> int:
    if text.lower() in field.names and text:
        return field.names.index(text.lower())
    if not text.isdecimal() or not field.first <= int(text[:9]) <= field.last:
        raise ValueError(f"{field.name}: {text[:32]!r} is not from {field.first} to {field.last}")
    return int(text)
