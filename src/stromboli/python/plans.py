"""Plans of a cluster, and explanations of their jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stromboli.planner.advice import Advice
from stromboli.planner.job_names import JobNames, find_job
from stromboli.planner.live.focus import limited_to
from stromboli.planner.plan import GroupPlan, SchedulingPlan
from stromboli.planner.report import advice_as_plain, report_of
from stromboli.python.html import heading, listing, table

_SHOWN_JOBS = 50


class ClusterPlan:
    """What the scheduler would do: its decisions, and why jobs wait."""

    def __init__(
        self, plan: SchedulingPlan, advise: Callable[[str], Advice], jobs: Sequence[str] | None, warnings: Sequence[str]
    ) -> None:
        """`jobs` are those that the plan is about; None for all."""
        self._plan = plan if jobs is None else limited_to(plan, jobs)
        self._whole, self._advise, self._warnings = plan, advise, warnings

    @property
    def jobs(self) -> Mapping[str, GroupPlan]:
        """The jobs by namespace and name, with their phase, queue, nodes and reasons."""
        return self._plan.groups

    @property
    def binds(self) -> dict[str, str]:
        """The node of each bound pod."""
        return self._plan.binds

    @property
    def evictions(self) -> dict[str, str]:
        """The reason of each eviction, by pod."""
        return self._plan.evictions

    @property
    def waiting(self) -> list[str]:
        """The jobs with unscheduled pods, or below their minimum."""
        return self._plan.waiting

    @property
    def is_complete(self) -> bool:
        """Whether no job waits."""
        return self._plan.is_complete

    @property
    def warnings(self) -> list[str]:
        return [*self._warnings, *self._plan.warnings]

    def explain(self, job: str) -> JobReport:
        """Explain why a job of the cluster waits. Raises LookupError for an unknown one."""
        return JobReport(self._advise(find_job(JobNames.of_plan(self._whole), job)))

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `stromboli plan -o json`."""
        return report_of(self._plan, self._warnings)

    @property
    def _title(self) -> str:
        return f"{len(self.binds):,} pods bound, {len(self.evictions):,} evicted, {len(self.waiting):,} jobs wait"

    def __repr__(self) -> str:
        return f"<Plan: {self._title}>"

    def _repr_html_(self) -> str:
        groups = list(self.jobs.items())
        rows = [
            (key, group.queue, group.phase, f"{group.ready}/{group.pods}", _places(group), group.summary)
            for key, group in groups[:_SHOWN_JOBS]
        ]
        header = ("job", "queue", "phase", "ready", "nodes", "why it waits")
        evicted = [f"{pod}: {reason}" for pod, reason in self.evictions.items()]
        shown = table(header, rows, more=len(groups) - len(rows))
        return heading(self._title) + shown + listing([*evicted, *self.warnings])


def _places(group: GroupPlan) -> str:
    return ", ".join(f"{node} ({pods})" if pods > 1 else node for node, pods in group.nodes.items())


class JobReport:
    """Why a job waits, and the smallest change that would let it start, verified by running the scheduler again."""

    def __init__(self, advice: Advice) -> None:
        self._advice = advice

    @property
    def job(self) -> str:
        return self._advice.explanation.job

    @property
    def is_waiting(self) -> bool:
        return self._advice.explanation.group.waiting

    @property
    def summary(self) -> str:
        """Why it waits, in one line; empty if it does not."""
        return self._advice.explanation.group.summary

    @property
    def reasons(self) -> list[str]:
        """The codes of why it waits, with their messages."""
        return [f"{each.code.value}: {'; '.join(each.messages)}" for each in self._advice.explanation.findings]

    @property
    def smallest_change(self) -> str | None:
        """The smallest change that was found; None if there is none."""
        smallest = self._advice.remedies.smallest
        return smallest.description if smallest else None

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `stromboli explain -o json`."""
        return advice_as_plain(self._advice)

    @property
    def _title(self) -> str:
        group = self._advice.explanation.group
        return f"{self.job} waits: {self.summary}" if self.is_waiting else f"{self.job} does not wait: {group.phase}"

    def __repr__(self) -> str:
        return f"<Explanation: {self._title}>"

    def _repr_html_(self) -> str:
        changes = [each.description for each in self._advice.remedies.alternatives]
        if self.smallest_change:
            changes.insert(0, self.smallest_change)
        text = heading(self._title) + listing(self.reasons)
        return text + (heading("Changes that would let it start") + listing(changes) if changes else "")
