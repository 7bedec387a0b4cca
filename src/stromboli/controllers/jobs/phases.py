"""The state machine of a Job: its phases, what each does with the pods, and where actions lead.

An action that a phase does not list has no effect in it. `settled` is how a phase ends by itself.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from stromboli.controllers.jobs.specification import JobSpecification
from stromboli.controllers.jobs.target import RestartTarget

PENDING, RUNNING, RESTARTING = "Pending", "Running", "Restarting"
ABORTING, ABORTED = "Aborting", "Aborted"
COMPLETING, COMPLETED = "Completing", "Completed"
TERMINATING, TERMINATED, FAILED = "Terminating", "Terminated", "Failed"

ABORT_JOB, RESUME_JOB, COMPLETE_JOB, TERMINATE_JOB = "AbortJob", "ResumeJob", "CompleteJob", "TerminateJob"
RESTART_JOB, RESTART_TASK, RESTART_POD = "RestartJob", "RestartTask", "RestartPod"
RESTART_PARTITION = "RestartPartition"

#: Phases of Jobs that have ended: after them the time to live begins.
FINISHED = (COMPLETED, FAILED, TERMINATED)
#: Phases of Jobs that wait until they are resumed.
SUSPENDED_PHASES = (ABORTING, ABORTED)
#: Actions that count as a retry, and those that begin a new generation of pods.
RESTARTS = (RESTART_JOB, RESTART_TASK, RESTART_POD, RESTART_PARTITION)
NEW_GENERATION = (RESTART_JOB, RESUME_JOB)


class PodHandling(enum.Enum):
    """What a phase does with the pods."""

    #: Create missing pods and delete superfluous ones.
    RUN = enum.auto()
    #: Delete the pods that are restarted; the PodGroup stays if others continue.
    REPLACE = enum.auto()
    #: Delete pods that have not finished; the others are kept with their logs.
    STOP = enum.auto()


class PhaseRow(NamedTuple):
    """A phase: what it does with the pods, and the phases that actions lead to."""

    pods: PodHandling
    actions: Mapping[str, str]


_STOPS = {ABORT_JOB: ABORTING, COMPLETE_JOB: COMPLETING, TERMINATE_JOB: TERMINATING}
_RESTARTS = dict.fromkeys(RESTARTS, RESTARTING)

PHASES: Mapping[str, PhaseRow] = {
    PENDING:     PhaseRow(PodHandling.RUN,     {**_STOPS, **_RESTARTS}),
    RUNNING:     PhaseRow(PodHandling.RUN,     {**_STOPS, **_RESTARTS}),
    RESTARTING:  PhaseRow(PodHandling.REPLACE, _STOPS),
    ABORTING:    PhaseRow(PodHandling.STOP,    {RESUME_JOB: RESTARTING, TERMINATE_JOB: TERMINATING}),
    ABORTED:     PhaseRow(PodHandling.STOP,    {RESUME_JOB: RESTARTING, TERMINATE_JOB: TERMINATING}),
    COMPLETING:  PhaseRow(PodHandling.STOP,    {}),
    COMPLETED:   PhaseRow(PodHandling.STOP,    {}),
    TERMINATING: PhaseRow(PodHandling.STOP,    {}),
    TERMINATED:  PhaseRow(PodHandling.STOP,    {}),
    FAILED:      PhaseRow(PodHandling.STOP,    {}),
}  # fmt: skip

_WHEN_STOPPED = {ABORTING: ABORTED, COMPLETING: COMPLETED, TERMINATING: TERMINATED}


class PodCounts(NamedTuple):
    """The pods of a Job by phase; those that are being deleted count only as terminating."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    #: The number of succeeded pods by task.
    succeeded_by_task: Mapping[str, int] = {}

    @property
    def started(self) -> int:
        return self.running + self.succeeded + self.failed

    @property
    def active(self) -> int:
        return self.pending + self.running + self.terminating + self.unknown


def settled(
    phase: str, spec: JobSpecification, counts: PodCounts, target: RestartTarget, retry_count: int, to_replace: int
) -> str:
    """Return the phase that follows by itself, or the same one. `to_replace` is the number of pods that a restart has
    yet to delete.
    """
    if phase == PENDING:
        return RUNNING if counts.started >= spec.min_available else phase
    if phase == RUNNING:
        return _outcome(spec, counts)
    if phase == RESTARTING:
        if retry_count >= max(spec.max_retry, 1):
            return FAILED
        return phase if to_replace else PENDING
    return _WHEN_STOPPED.get(phase, phase) if not counts.active else phase


def _outcome(spec: JobSpecification, counts: PodCounts) -> str:
    """Return how a running Job ends: when enough pods succeeded, or when all have finished."""
    if spec.min_success is not None and counts.succeeded >= spec.min_success:
        return COMPLETED
    if not spec.replicas or counts.succeeded + counts.failed < spec.replicas:
        return RUNNING
    if spec.min_success is not None or counts.succeeded < spec.min_available:
        return FAILED
    every_task_counts = spec.min_available >= sum(task.minimum for task in spec.tasks)
    if every_task_counts and any(counts.succeeded_by_task.get(task.name, 0) < task.minimum for task in spec.tasks):
        return FAILED
    return COMPLETED
