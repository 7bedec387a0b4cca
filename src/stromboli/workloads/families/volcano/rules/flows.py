"""The rules for JobFlows. The Jobs that they create are validated with their templates."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.dependencies import cycle_in
from stromboli.workloads.families.volcano.rules.findings import Rule, RuleFinding, findings_by
from stromboli.workloads.families.volcano.rules.names import (
    MAX_LABEL,
    SUBDOMAIN_REMEDY,
    subdomain_problem,
)
from stromboli.workloads.families.volcano.rules.policies import policies_are_valid

_RETAIN = ("", "retain", "delete")
_NOT_A_DAG = "jobflow Flow is not DAG"


def flow_findings(flow: WorkloadDocument) -> list[RuleFinding]:
    """Return what is wrong with a JobFlow."""
    return findings_by(FLOW_RULES, flow)


def flows_are_named(flow: WorkloadDocument) -> Iterator[RuleFinding]:
    number, own = flow.length("spec.flows"), flow.text("metadata.name")
    if not number:
        message = "is empty: the flow creates no jobs"
        yield RuleFinding("spec.flows", message, "write at least one with the name of a JobTemplate", is_warning=True)
    names: dict[str, str] = {}
    for place in range(number):
        path = f"spec.flows[{place}]"
        name = flow.text(f"{path}.name")
        if not name:
            yield RuleFinding(f"{path}.name", "is missing", "write the name of a JobTemplate")
        elif problem := subdomain_problem(name):
            yield RuleFinding(f"{path}.name", problem, SUBDOMAIN_REMEDY)
        elif own and len(job := f"{own}-{name}") > MAX_LABEL:
            message = f"the name of its job, {job}, is longer than {MAX_LABEL} characters"
            yield RuleFinding(f"{path}.name", message, "write a shorter name for the flow or the template")
        if name in names:
            message = f"{names[name]} has the same name, and both stand for one job"
            yield RuleFinding(f"{path}.name", message, "remove one of them", is_warning=True)
        names.setdefault(name, path)


def flows_are_acyclic(flow: WorkloadDocument) -> Iterator[RuleFinding]:
    places = range(flow.length("spec.flows"))
    graph: dict[str, list[str]] = {flow.text(f"spec.flows[{place}].name"): [] for place in places}
    for place in places:
        path = f"spec.flows[{place}].dependsOn.targets"
        for number in range(flow.length(path)):
            target = flow.text(f"{path}[{number}]")
            if target in graph:
                graph[flow.text(f"spec.flows[{place}].name")].append(target)
            else:
                message = f"{_NOT_A_DAG}: vertex is not defined: {target}"
                yield RuleFinding(f"{path}[{number}]", message, "name a flow of this JobFlow, or add it")
    if cycle := cycle_in(graph):
        message = f"{_NOT_A_DAG}: {' depends on '.join(cycle)}"
        yield RuleFinding("spec.flows", message, "remove one of these dependencies")


def retain_policy_is_known(flow: WorkloadDocument) -> Iterator[RuleFinding]:
    policy = flow.text("spec.jobRetainPolicy")
    if policy not in _RETAIN:
        yield RuleFinding("spec.jobRetainPolicy", f"{policy!r} is not a policy", "use retain or delete")


def patches_are_valid(flow: WorkloadDocument) -> Iterator[RuleFinding]:
    for place in range(flow.length("spec.flows")):
        yield from policies_are_valid(flow, f"spec.flows[{place}].patch.jobSpec")


FLOW_RULES: tuple[Rule, ...] = (flows_are_named, flows_are_acyclic, retain_policy_is_known, patches_are_valid)
