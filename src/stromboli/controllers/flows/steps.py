"""The entries of a JobFlow: one Job each, and what must hold before it is created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stromboli.controllers.flows.probes import FlowProbe, probe_at
from stromboli.workloads.document import WorkloadDocument


class FlowStep(NamedTuple):
    """A Job of a flow."""

    #: The name of its JobTemplate.
    template: str
    #: Its place in `spec.flows`.
    place: int
    #: The name of the Job.
    job: str
    #: The names of the Jobs that it depends on.
    targets: Sequence[str]
    probe: FlowProbe | None


def steps_of(flow: WorkloadDocument) -> list[FlowStep]:
    """Return the entries of a flow; of several for one template the first. Raises ObjectError."""
    steps: dict[str, FlowStep] = {}
    for place in range(flow.length("spec.flows")):
        step = _step(flow, place)
        steps.setdefault(step.template, step)
    return list(steps.values())


def _step(flow: WorkloadDocument, place: int) -> FlowStep:
    path = f"spec.flows[{place}]"
    template, targets = flow.text(f"{path}.name"), f"{path}.dependsOn.targets"
    names = [flow.text(f"{targets}[{number}]") for number in range(flow.length(targets))]
    return FlowStep(
        template,
        place,
        job_name(flow, template),
        [job_name(flow, name) for name in names],
        probe_at(flow, f"{path}.dependsOn.probe"),
    )


def job_name(flow: WorkloadDocument, template: str) -> str:
    return f"{flow.name}-{template}"
