"""The decisions of a cycle, about jobs that a person may read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from stromboli.console.documents.decisions import CycleView
from stromboli.console.views.view import PersonView
from stromboli.planner.cycle_records import CycleRecord, EvictionDecision


class AboutJob(Protocol):
    """A decision about a job."""

    @property
    def job(self) -> str: ...


D = TypeVar("D", bound=AboutJob)


def cycle_view(view: PersonView, record: CycleRecord) -> CycleView:
    """Return a cycle; decisions about other jobs are counted."""
    total = len(record.binds) + len(record.evictions) + len(record.nominations) + len(record.refusals)
    binds, nominations = _readable(view, record.binds), _readable(view, record.nominations)
    evictions, refusals = _readable(view, record.evictions), _readable(view, record.refusals)
    shown = len(binds) + len(evictions) + len(nominations) + len(refusals)
    return CycleView(
        instance=view.instance,
        cycle=record.cycle,
        actions=record.actions,
        plugins=record.plugins,
        binds=binds,
        evictions=[_eviction(view, each) for each in evictions],
        nominations=nominations,
        refusals=[type(each)(job=each.job, queue=each.queue, summary=view.text(each.summary), codes=each.codes)
                  for each in refusals],
        scores=_readable(view, record.scores) if view.rights.known.nodes else [],
        hidden=total - shown,
    )  # fmt: skip


def _readable(view: PersonView, decisions: Sequence[D]) -> list[D]:
    return [each for each in decisions if view.rights.may_read(each.job.partition("/")[0])]


def _eviction(view: PersonView, decision: EvictionDecision) -> EvictionDecision:
    return EvictionDecision(
        pod=decision.pod, job=decision.job, action=decision.action, plugins=decision.plugins,
        preemptor=view.names.key(decision.preemptor) if decision.preemptor else "", message=view.text(decision.message),
    )  # fmt: skip
