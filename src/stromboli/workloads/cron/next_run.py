"""When a workload with a schedule runs next, as a note of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from stromboli.workloads.cron.schedules import parse_schedule
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import ExpansionContext


def next_run_note(
    workload: WorkloadDocument, context: ExpansionContext, zone: str, schedules: Sequence[str] = ("spec.schedule",)
) -> str:
    """Return a note about the next run. `zone` and `schedules` are the fields of the time zone and of expressions.

    Raises ObjectError for an invalid schedule, or for one whose time never comes.
    """
    texts = [workload.text(path) for path in schedules]
    found = [_next_time(workload, context.now or 0.0, path, zone) for path in schedules]
    if context.now is None or not found:
        return f"its next run ({', '.join(texts)}) is planned as if it started now"
    moment = datetime.fromtimestamp(min(found), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"its next run, at {moment} ({', '.join(texts)}), is planned as if it started now"


def _next_time(workload: WorkloadDocument, now: float, path: str, zone: str) -> float:
    text = workload.text(path)
    if not text:
        raise workload.error(path, "is missing", "write a schedule such as '0 3 * * *'")
    try:
        found = parse_schedule(text, workload.text(zone)).next_after(now)
    except ValueError as error:
        raise workload.error(path, str(error), "write a schedule such as '0 3 * * *'") from None
    if found is None:
        raise workload.error(path, f"{text!r} has no next run", "write a date that exists")
    return found
