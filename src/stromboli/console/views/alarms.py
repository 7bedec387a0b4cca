"""States that need attention, as numbers: alarms name no object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.console.documents.overview import ConsoleAlarm
from stromboli.console.views.view import PersonView
from stromboli.planner.overview.job_list import UNREPORTED

#: Seconds after which a job should have been reported, and after which a wait is long.
_UNREPORTED_SECONDS, _LONG_SECONDS = 60.0, 86_400.0
WARNING, CRITICAL = "warning", "critical"


def alarms_of(view: PersonView, now: float, watch_problems: Sequence[str], policy_problem: str) -> list[ConsoleAlarm]:
    """Return the alarms. Causes are for people who may read everything: they may name objects."""
    return [
        *_of_nodes(view),
        *_of_jobs(view, now),
        *_of_console(view, watch_problems, policy_problem),
    ]


def _alarm(kind: str, severity: str, message: str, count: int = 1, link: str = "") -> ConsoleAlarm:
    return ConsoleAlarm(kind=kind, severity=severity, message=message, count=count, link=link)


def _of_nodes(view: PersonView) -> Iterator[ConsoleAlarm]:
    statuses = view.frame.nodes.statuses if view.frame.nodes else ()
    if failed := sum(status.startswith("NotReady") for status in statuses):
        message = f"{failed} of {len(statuses)} nodes are not ready"
        yield _alarm("NodesNotReady", CRITICAL, message, failed, "/nodes?status=NotReady")
    if cordoned := sum(status.endswith("SchedulingDisabled") for status in statuses):
        yield _alarm("NodesCordoned", WARNING, f"{cordoned} nodes are cordoned", cordoned, "/nodes")


def _of_jobs(view: PersonView, now: float) -> Iterator[ConsoleAlarm]:
    waiting = [row.entry for row in view.frame.rows.values() if row.entry.waits and row.entry.created]
    unreported = sum(each.reason == UNREPORTED and now - each.created > _UNREPORTED_SECONDS for each in waiting)
    if unreported:
        message = f"{unreported} jobs wait without a report of a scheduler; check that one runs"
        yield _alarm("JobsNotReported", CRITICAL, message, unreported, "/jobs?waiting=true")
    if late := sum(now - each.created > _LONG_SECONDS for each in waiting):
        yield _alarm("LongWaits", WARNING, f"{late} jobs wait for more than a day", late, "/jobs?waiting=true")


def _of_console(view: PersonView, watch_problems: Sequence[str], policy_problem: str) -> Iterator[ConsoleAlarm]:
    def cause(text: str) -> str:
        return f": {text}" if view.rights.may_read_all else ""

    if watch_problems:
        message = f"{len(watch_problems)} kinds of objects are not up to date{cause('; '.join(watch_problems))}"
        yield _alarm("WatchStale", CRITICAL, message, len(watch_problems))
    if policy_problem:
        yield _alarm("PolicyUnknown", WARNING, f"another policy than the scheduler's is shown{cause(policy_problem)}")
    if view.frame.problem:
        yield _alarm("PluginFailed", CRITICAL, f"queues and nodes are out of date{cause(view.frame.problem)}")
