"""Run times of earlier runs, by owner and template.

Names of jobs differ from one submission to the next: generated parts are left out, so that `train-28491234` of a
CronJob and `train-x7k2p` are runs of `train`. A pod of another owner with the same template in the same namespace
counts where the owner itself has too few runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stromboli.history.databases.database import Database

#: Fewer runs are no basis for an estimate.
MIN_RUNS = 5
#: The latest runs of an owner count: programs and data change.
_MAX_RUNS = 200
_MAX_ROWS = 50_000
#: Counters, timestamps, and the suffix that the API server generates, which has no vowels.
_GENERATED = re.compile(r"-(?:[0-9]+|[bcdfghjklmnpqrstvwxz2456789]{5}|[0-9a-f]{8,10})$")

OwnerRuns = tuple[str, str, str, str]
"""Namespace, kind and family of the owner, template."""


def family_of(name: str) -> str:
    """Return the name of an owner without generated parts."""
    while (shorter := _GENERATED.sub("", name)) != name:
        name = shorter
    return name


@dataclass(slots=True)
class LearnedRunTimes:
    by_owner: dict[OwnerRuns, list[float]] = field(default_factory=dict)
    by_template: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, namespace: str, owner_kind: str, owner: str, template: str, run: float) -> None:
        """Add a run, the latest first."""
        both = (
            self.by_owner.setdefault((namespace, owner_kind, family_of(owner), template), []),
            self.by_template.setdefault((namespace, template), []),
        )
        for runs in both:
            if len(runs) < _MAX_RUNS:
                runs.append(run)

    def runs_of(self, namespace: str, owner_kind: str, owner: str, template: str) -> Sequence[float]:
        """Return the runs that an estimate may use; empty if there are too few."""
        own = self.by_owner.get((namespace, owner_kind, family_of(owner), template), ())
        alike = self.by_template.get((namespace, template), ())
        return next((runs for runs in (own, alike) if len(runs) >= MIN_RUNS), ())


def learned_run_times(database: Database) -> LearnedRunTimes:
    """Read the run times of pods that ended by themselves: one for each job and template, that of its last pod.

    Evicted and deleted pods, and those whose end was not seen, did not run to their end. Raises HistoryError.
    """
    rows = database.rows(
        "SELECT j.namespace, j.owner_kind, j.title, p.template, max(p.ended - p.started) "
        "FROM pods AS p JOIN jobs AS j ON p.job = j.uid "
        "WHERE p.outcome IN ('Succeeded', 'Failed') AND p.evicted IS NULL AND p.template IS NOT NULL "
        "AND p.ended > p.started GROUP BY j.uid, j.namespace, j.owner_kind, j.title, p.template "
        "ORDER BY max(p.ended) DESC LIMIT ?",
        _MAX_ROWS,
    )
    learned = LearnedRunTimes()
    for namespace, owner_kind, title, template, run in rows:
        learned.add(namespace, owner_kind, title, template, float(run))
    return learned
