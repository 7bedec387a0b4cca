"""Answers to the questions of the web console, as its documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isinf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click
import msgspec

from stromboli import kube
from stromboli.cli.answers.state import NamespaceScenario, namespaces_in, present_objects, words_of
from stromboli.cli.answers.submitted import check_readable
from stromboli.cli.output import Failure
from stromboli.cli.past_usage import with_history
from stromboli.cli.plan_input import JobSelection
from stromboli.cli.policies import parse_policy, read_configuration, read_registry
from stromboli.cluster.dump.dump import Dump
from stromboli.cluster.objects.pods.run_times import run_time_of
from stromboli.console.documents.job import JobExplanation, JobScores
from stromboli.console.documents.plans import (
    PlanDifference,
    PlannedGroup,
    PlanReport,
    PlanVictim,
    PolicyDiff,
    SimulationReport,
)
from stromboli.console.questions import ConsoleQuestion
from stromboli.core.config.registry import Registry
from stromboli.core.session.program import Program
from stromboli.kube.manifests.manifests import ManifestError, Manifests
from stromboli.planner.evictions import describe_eviction
from stromboli.planner.live.submission import submit
from stromboli.planner.overview.node_scores import node_scores, without_nodes
from stromboli.planner.plan import GroupPlan, SchedulingPlan
from stromboli.planner.report import advice_as_plain
from stromboli.visibility.names import HiddenNames
from stromboli.visibility.questions import VisibilityAnswer
from stromboli.workloads.reading import read_with_workloads

#: Nodes that are scored for a class of pods, and entries of the time line of a simulation.
_MAX_CANDIDATES, _MAX_TIMELINE = 50, 2_000
_FILE = "manifests.yaml"

D = TypeVar("D", bound=msgspec.Struct)


def console_answer(
    question: ConsoleQuestion, dump: Dump, plugins: Sequence[str] = (), history: str = ""
) -> VisibilityAnswer:
    """Return the answer, or why there is none, without the names that the person may not read. `history` is the address
    of past usage.
    """
    scenario: NamespaceScenario | None = None
    try:
        scenario = with_history(console_scenario(question, dump, plugins), history)
        plain = msgspec.to_builtins(_ANSWERS[question.console](scenario, question, dump))
        return VisibilityAnswer(result=scenario.names.in_values(plain))
    except click.ClickException as error:
        message = error.format_message()
        return VisibilityAnswer(problem=message if scenario is None else scenario.names.hide(message))


def console_scenario(question: ConsoleQuestion, dump: Dump, plugins: Sequence[str] = ()) -> NamespaceScenario:
    """Return the state of a dump, with the objects and the policy of the question. Invalid ones end the command."""
    contents, registry = dump.contents, read_registry(plugins)
    present = list(present_objects(contents, dump.now))
    submitted = _read(question, contents.scheduler_names, dump.now)
    submission = submit(present, submitted.objects, dump.now)
    program = _program(question.policy, dump, registry)
    readable = None if question.readable is None else frozenset((*question.readable, question.namespace)) - {""}
    return NamespaceScenario(
        submission.objects, program, question.cycles, contents.seed, tuple(contents.scheduler_names),
        [*submission.notes, *submitted.notes],
        unjudged=submitted.unjudged, inactive=submitted.inactive, shard=contents.shard, now=dump.now,
        default_queue=contents.default_queue, node_selector=contents.node_selector,
        selection=JobSelection(submission if submitted.objects else None, question.namespace),
        is_live=True, registry=registry, readable=readable,
        names=HiddenNames(readable, namespaces_in(present) | words_of(question)),
    )  # fmt: skip


def _program(policy: str | None, dump: Dump, registry: Registry) -> Program:
    if policy is not None:
        return Program(parse_policy(policy, registry, "the policy"), registry)
    if not dump.configuration:
        return Program(read_configuration(None, registry), registry)
    return Program(parse_policy(dump.configuration, registry, "the policy of the scheduler"), registry)


def _read(question: ConsoleQuestion, scheduler_names: Sequence[str], now: float) -> Manifests:
    """Read the objects of a question as files are read, with the pods of their workloads."""
    if not question.manifests.strip():
        return Manifests()
    with TemporaryDirectory(prefix="stromboli-answer-") as folder:
        path = Path(folder) / _FILE
        path.write_text(question.manifests)
        try:
            found = read_with_workloads(
                [str(path)], scheduler_names=scheduler_names, now=now,
                namespace_for=lambda items: question.namespace or "default",
            )  # fmt: skip
        except ManifestError as error:
            raise Failure(str(error).replace(f"{folder}/", "")) from error
    if found.problems:
        raise Failure("; ".join(str(problem.error) for problem in found.problems).replace(f"{folder}/", ""))
    if question.readable is not None:
        check_readable(found.objects, {*question.readable, question.namespace})
    return found


# -- plans ------------------------------------------------------------------------------------------------------------


def _plan(scenario: NamespaceScenario, question: ConsoleQuestion, dump: Dump) -> PlanReport:
    return _planned(_changed(scenario, question) if question.change else scenario)


def _changed(scenario: NamespaceScenario, question: ConsoleQuestion) -> NamespaceScenario:
    """Apply a change that the explanation of a job proposes. It is searched again: no other edit is accepted."""
    plan = scenario.plan()
    if question.job not in plan.groups:
        raise Failure(f"no job {question.job}; it may have ended meanwhile")
    remedies = scenario.advise(plan, [question.job])[0].remedies
    for change in (remedies.smallest, *remedies.alternatives):
        if change is not None and change.description == question.change:
            return replace(scenario, objects=change.apply(scenario.objects))
    raise Failure(f"{question.change!r} is no longer proposed for {question.job}; explain the job again")


def _planned(scenario: NamespaceScenario) -> PlanReport:
    began = time.monotonic()
    plan = scenario.shown(scenario.plan())
    return _report(scenario, plan, time.monotonic() - began)


def _report(scenario: NamespaceScenario, plan: SchedulingPlan, seconds: float) -> PlanReport:
    unjudged = [f"{subject} could not be judged: its pods are not known" for subject in scenario.unjudged]
    inactive = [f"{subject} {why}" for subject, why in scenario.inactive.items()]
    return PlanReport(
        binds=plan.binds, pipelined=plan.pipelined, victims=_victims(plan),
        jobs=[_group(key, group) for key, group in plan.groups.items()],
        warnings=[*scenario.warnings, *unjudged, *inactive, *plan.warnings], seconds=round(seconds, 3),
    )  # fmt: skip


def _victims(plan: SchedulingPlan) -> list[PlanVictim]:
    return [PlanVictim(pod=each.pod, reason=describe_eviction(each)) for each in plan.records]


def _group(key: str, group: GroupPlan) -> PlannedGroup:
    return PlannedGroup(
        job=key, phase=group.phase, queue=group.queue, min_member=group.min_member, ready=group.ready,
        pods=group.pods, nodes=dict(group.nodes), waiting=group.waiting, summary=group.summary,
        reasons=list(group.reasons), codes=list(group.codes),
    )  # fmt: skip


def _policy_diff(scenario: NamespaceScenario, question: ConsoleQuestion, dump: Dump) -> PolicyDiff:
    """Run both policies on the same objects."""
    assert scenario.registry is not None, "it was read"  # noqa: S101
    other = _program(question.other_policy, dump, scenario.registry)
    changed = with_history(replace(scenario, program=other), scenario.history)
    before, after = _planned(scenario), _planned(changed)
    first, second = ({job.job: job for job in report.jobs} for report in (before, after))
    differing = [key for key in sorted({*first, *second}) if _decided(first.get(key)) != _decided(second.get(key))]
    victims = {each.pod for each in before.victims}, {each.pod for each in after.victims}
    return PolicyDiff(
        before=before, after=after,
        differences=[_difference(key, first.get(key), second.get(key)) for key in differing],
        only_before=[each for each in before.victims if each.pod not in victims[1]],
        only_after=[each for each in after.victims if each.pod not in victims[0]],
    )  # fmt: skip


def _decided(group: PlannedGroup | None) -> Any:
    return group and (group.phase, group.ready, group.waiting, group.nodes)


def _difference(key: str, before: PlannedGroup | None, after: PlannedGroup | None) -> PlanDifference:
    queue = next(each.queue for each in (before, after) if each is not None)
    return PlanDifference(job=key, queue=queue, before=before, after=after)


# -- one job ----------------------------------------------------------------------------------------------------------


def _explanation(scenario: NamespaceScenario, question: ConsoleQuestion, dump: Dump) -> JobExplanation:
    plan = scenario.plan()
    if question.job not in plan.groups:
        raise Failure(f"no job {question.job}; it may have ended meanwhile")
    return _converted(advice_as_plain(scenario.advise(plan, [question.job])[0]), JobExplanation)


def _scores(scenario: NamespaceScenario, question: ConsoleQuestion, dump: Dump) -> JobScores:
    """Return the scores of the waiting pods, or of all if none waits."""
    cluster = scenario.open()
    if question.job not in cluster.session.jobs:
        raise Failure(f"no job {question.job}; it may have ended meanwhile")
    if not cluster.session.jobs[question.job].pending_count:
        pods = frozenset(task.key for task in cluster.session.jobs[question.job].tasks.values())
        cluster = scenario.open(without_nodes(scenario.objects, pods))
    session = cluster.session
    scores = [each.as_plain() for each in node_scores(session, session.jobs[question.job])]
    for each in scores:
        each["candidates"] = each["candidates"][:_MAX_CANDIDATES]
    plain = {"job": question.job, "classes": scores, "warnings": [*scenario.warnings, *session.warnings]}
    return _converted(plain, JobScores)


def _converted(plain: Mapping[str, Any], kind: type[D]) -> D:
    """Return plain values as a document; its types hold for what commands print as well."""
    return msgspec.convert(msgspec.json.decode(msgspec.json.encode(plain)), type=kind)


# -- simulation -------------------------------------------------------------------------------------------------------


def _simulation(scenario: NamespaceScenario, question: ConsoleQuestion, dump: Dump) -> SimulationReport:
    from stromboli.simulator.report import report_of
    from stromboli.simulator.simulation import Simulation
    from stromboli.simulator.workload import workload_of

    workload = workload_of(scenario.objects, scenario.now)
    simulation = Simulation(
        workload, scenario.program, scheduler_names=scenario.scheduler_names, seed=scenario.seed,
        shard=scenario.shard, ends=_ends(question.run_seconds),
    )  # fmt: skip
    measured = simulation.run(workload.start + question.seconds)
    warnings = [*scenario.warnings, *simulation.warnings]
    plain = report_of(measured, simulation.why_waiting, warnings)
    plain["timeline"] = plain["timeline"][:_MAX_TIMELINE]
    return _converted(plain, SimulationReport)


def _ends(run_seconds: int) -> Callable[[kube.Pod, float, float], float]:
    """Return the ends of pods: after their declared run time, or else after this one."""

    def end(pod: kube.Pod, began: float, now: float) -> float:
        declared = run_time_of(pod)
        return began + (run_seconds if isinf(declared) else declared)

    return end


_ANSWERS: Mapping[str, Callable[[NamespaceScenario, ConsoleQuestion, Dump], msgspec.Struct]] = {
    "explanation": _explanation,
    "scores": _scores,
    "plan": _plan,
    "policyDiff": _policy_diff,
    "simulation": _simulation,
}
