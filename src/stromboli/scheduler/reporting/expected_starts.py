"""Reports expected starts on the PodGroups of waiting jobs.

An expectation moves a little with every forecast. A group is written when the range has changed noticeably, and only
some of them after each forecast; the others follow after the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from stromboli.cluster.objects.pod_groups.expected_start import (
    ESTIMATED,
    EXPECTED_START,
    OPEN_END,
    describe_start,
    expected_start_of,
)
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter
from stromboli.scheduler.reporting.group_targets import target_of
from stromboli.scheduler.reporting.patches import GroupCondition

#: Earliest and latest start, seconds since the epoch; the latest is None if run times are unknown.
Range = tuple[float, float | None]

#: The most PodGroups that are written after one forecast, the earliest starts first.
MAX_WRITES = 200
#: A change is noticeable beyond this part of the time until the start, or this many seconds.
_CHANGE, _LEAST = 0.1, 60.0


class ExpectedStarts:
    def __init__(self, cluster: Cluster, writer: StatusWriter, wall_clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._writer = writer
        self._wall_clock = wall_clock
        #: The ranges of the last forecast by key of the job.
        self.ranges: Mapping[str, Range] = {}

    def report(self, ranges: Mapping[str, Range]) -> int:
        """Report the ranges of a forecast; return the number of groups that are written."""
        self.ranges, now = ranges, self._wall_clock()
        changed = [key for key in sorted(ranges, key=lambda key: ranges[key][0]) if self._has_changed(key, now)]
        for key in changed[:MAX_WRITES]:
            self._write(key, *ranges[key])
        return min(len(changed), MAX_WRITES)

    def _has_changed(self, key: str, now: float) -> bool:
        group = self._cluster.groups.get(key)
        if group is None:
            return False
        before, after = expected_start_of(group), self.ranges[key]
        if before is None or (before[1] is None) != (after[1] is None):
            return True
        return any(_differ(one, other, now) for one, other in zip(before, after, strict=True))

    def _write(self, key: str, earliest: float, latest: float | None) -> None:
        target = target_of(self._cluster.groups[key])
        reason = OPEN_END if latest is None else ESTIMATED
        condition = GroupCondition(EXPECTED_START, reason, describe_start(earliest, latest), "")
        make = partial(target.condition, desired=condition, now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        self._writer.want(
            DesiredStatus(
                target.resource, target.key, make,
                topic=EXPECTED_START, kind=target.kind, subresource=target.subresource,
            )
        )  # fmt: skip


def _differ(one: float | None, other: float | None, now: float) -> bool:
    """Report whether two moments differ noticeably; those that have passed do not."""
    if one is None or other is None:
        return one is not other
    left, right = max(one - now, 0.0), max(other - now, 0.0)
    return abs(left - right) > max(_LEAST, _CHANGE * max(left, right))
