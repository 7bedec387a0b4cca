"""Run the cycle of a dump again and compare the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stromboli.cluster.dump.dump import Dump
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.planner.plan import SchedulingPlan, decisions_of, plan_in
from stromboli.planner.trials import Trials
from stromboli.planner.virtual_cluster import PlannedCluster

#: The decisions about pods, with their verbs.
_ABOUT_PODS = {"binds": "is bound to", "pipelined": "is nominated to", "evictions": "is evicted:"}


def recorded_decisions(session: Session) -> dict[str, Any]:
    """Return the decisions of a cycle as plain values for a dump."""
    decided = decisions_of(session)
    return {
        "binds": decided.binds,
        "pipelined": decided.pipelined,
        "evictions": {pod: _reason(record.action) for pod, record in decided.records.items()},
        "phases": {key: status.phase for key, status in sorted(session.statuses.items())},
    }


def replay(dump: Dump, program: Program, cycles: int = 1, past_usage: UsageLedger | None = None) -> SchedulingPlan:
    """Run the cycle of a dump; its decisions take effect before further cycles."""
    cluster = PlannedCluster.of_contents(dump.contents, program, dump.now)
    cluster.include_past(past_usage)
    return plan_in(cluster, program, cycles)


def changed_decisions(recorded: Mapping[str, Any], plan: SchedulingPlan) -> list[str]:
    """Describe the differences to the recorded decisions.

    A scheduler records the phases of changed jobs only, a replay those of all jobs: the recorded ones are compared.
    """
    now = recorded_decisions(plan.session)
    then = {**recorded, "evictions": {pod: _reason(text) for pod, text in recorded.get("evictions", {}).items()}}
    differences = [line for kind in _ABOUT_PODS for line in _about_pods(kind, then.get(kind, {}), now[kind])]
    phases: Mapping[str, str] = recorded.get("phases", {})
    for key, phase in phases.items():
        if now["phases"].get(key) != phase:
            differences.append(f"PodGroup {key}: recorded: {phase}; replayed: {now['phases'].get(key, 'none')}")
    return differences


def _reason(recorded: str) -> str:
    """Return the action of an eviction: older schedulers append details."""
    return recorded.partition(":")[0]


def _about_pods(kind: str, then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    verb = _ABOUT_PODS[kind]
    for pod in sorted({*then, *now}):
        if then.get(pod) == now.get(pod):
            continue
        before = f"{verb} {then[pod]}" if pod in then else f"is not in {kind}"
        after = f"{verb} {now[pod]}" if pod in now else f"is not in {kind}"
        yield f"Pod {pod}: recorded: {before}; replayed: {after}"


class DumpTrials(Trials):
    """Trials over the state of a dump, including binds in flight."""

    def __init__(self, dump: Dump, program: Program, *, cycles: int = 1) -> None:
        contents = dump.contents
        objects: Sequence[KubeObject] = contents.objects  # type: ignore[assignment]
        super().__init__(
            objects, program, cycles=cycles, seed=contents.seed, scheduler_names=list(contents.scheduler_names)
        )
        self._dump = dump

    def _make_cluster(self, objects: Sequence[KubeObject]) -> PlannedCluster:
        return PlannedCluster.of_contents(replace(self._dump.contents, objects=objects), self._program, self._dump.now)
