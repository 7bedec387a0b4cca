"""Pod templates: what every API server requires of pods, so that a Job is rejected and not each of its pods."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.names import LABEL_REMEDY, label_problem

_RESTART_POLICIES = ("Always", "OnFailure", "Never")


def templates_are_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    for place in range(job.length("spec.tasks")):
        path = f"spec.tasks[{place}].template"
        job.template(path)
        yield from _pod(job, f"{path}.spec")


def _pod(job: WorkloadDocument, spec: str) -> Iterator[RuleFinding]:
    restart = job.text(f"{spec}.restartPolicy")
    if restart and restart not in _RESTART_POLICIES:
        remedy = f"use one of {', '.join(_RESTART_POLICIES)}"
        yield RuleFinding(f"{spec}.restartPolicy", f"{restart!r} is not a restart policy", remedy)
    if not job.length(f"{spec}.containers"):
        yield RuleFinding(f"{spec}.containers", "is missing", "write at least one container with name and image")
    volumes: dict[str, str] = {}
    for place in range(job.length(f"{spec}.volumes")):
        yield from _name(job, f"{spec}.volumes[{place}]", volumes)
    names: dict[str, str] = {}
    for part in ("initContainers", "containers"):
        for place in range(job.length(f"{spec}.{part}")):
            yield from _container(job, f"{spec}.{part}[{place}]", names, volumes)


def _container(
    job: WorkloadDocument, path: str, names: dict[str, str], volumes: Container[str]
) -> Iterator[RuleFinding]:
    yield from _name(job, path, names)
    if not job.text(f"{path}.image"):
        yield RuleFinding(f"{path}.image", "is missing", "write the image of the container")
    yield from _amounts(job.map(f"{path}.resources"), f"{path}.resources")
    for place in range(job.length(f"{path}.volumeMounts")):
        mount = f"{path}.volumeMounts[{place}]"
        if (name := job.text(f"{mount}.name")) not in volumes:
            yield RuleFinding(f"{mount}.name", f"volume {name!r} does not exist", "add it to the template's volumes")
        if not job.text(f"{mount}.mountPath"):
            yield RuleFinding(f"{mount}.mountPath", "is missing", "write the path in the container")


def _name(job: WorkloadDocument, path: str, names: dict[str, str]) -> Iterator[RuleFinding]:
    field = f"{path}.name"
    name = job.text(field)
    if not name:
        yield RuleFinding(field, "is missing", "write a name")
    elif problem := label_problem(name):
        yield RuleFinding(field, problem, LABEL_REMEDY)
    elif name in names:
        yield RuleFinding(field, f"{names[name]} is called {name}, too", "rename one of them")
    names.setdefault(name, path)


def _amounts(resources: Mapping[str, Any], path: str) -> Iterator[RuleFinding]:
    parsed: dict[str, dict[str, int]] = {"requests": {}, "limits": {}}
    for part, amounts in parsed.items():
        given = resources.get(part)
        for name, value in given.items() if isinstance(given, Mapping) else ():
            try:
                amounts[name] = parse_quantity(value, milli=True)
            except ValueError as error:
                message, _, remedy = str(error).partition("; ")
                yield RuleFinding(f"{path}.{part}.{name}", message, remedy)
    requests, limits = parsed["requests"], parsed["limits"]
    for name in sorted(requests.keys() & limits.keys()):
        if requests[name] > limits[name]:
            message = f"{resources['requests'][name]} is more than the limit, {resources['limits'][name]}"
            yield RuleFinding(f"{path}.requests.{name}", message, "lower it, or raise the limit")
