"""The rules for Jobs, which the specs of JobTemplates and CronJobs must satisfy as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.dependencies import cycle_in
from stromboli.workloads.families.volcano.rules.findings import Rule, RuleFinding, findings_by
from stromboli.workloads.families.volcano.rules.names import (
    LABEL_REMEDY,
    MAX_LABEL,
    SUBDOMAIN_REMEDY,
    label_problem,
    subdomain_problem,
)
from stromboli.workloads.families.volcano.rules.policies import policies_are_valid
from stromboli.workloads.families.volcano.rules.templates import templates_are_valid
from stromboli.workloads.families.volcano.rules.topology import (
    network_topologies_are_valid,
    numa_policies_are_valid,
    partitions_are_valid,
)
from stromboli.workloads.families.volcano.rules.volumes import volumes_are_valid
from stromboli.workloads.families.volcano.tasks import minimum_of, name_of

#: What the API server appends to `generateName`.
_GENERATED = 5
#: The most pods that Kubernetes supports in a cluster.
_MAX_REPLICAS = 150_000
_ITERATIONS = ("", "any", "all")
_NOT_A_DAG = "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"
_OTHER_TASK = "name a task of this job"


def job_findings(job: WorkloadDocument, further: Sequence[Rule] = ()) -> list[RuleFinding]:
    """Return what is wrong with a Job. `further` are rules of the caller, such as those of its plugins."""
    return findings_by((*JOB_RULES, *further), job)


def name_is_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    """The name is the value of a label of the pods, so that it is shorter than other names may be."""
    name = job.text("metadata.name")
    if not name:
        return
    if len(name) > MAX_LABEL:
        message = f"is longer than {MAX_LABEL} characters, and the pods could not have the label for it"
        yield RuleFinding("metadata.name", message, "write a shorter name")
    elif problem := subdomain_problem(name):
        yield RuleFinding("metadata.name", problem, SUBDOMAIN_REMEDY)


def tasks_are_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    number = job.length("spec.tasks")
    if not number:
        yield RuleFinding("spec.tasks", "No task specified in job spec", "write at least one task with a template")
    names: dict[str, str] = {}
    for place in range(number):
        path = f"spec.tasks[{place}]"
        name = name_of(job, place)
        if problem := label_problem(name):
            yield RuleFinding(f"{path}.name", problem, LABEL_REMEDY)
        if name in names:
            message = f"duplicated task name {name}, {names[name]} has it already"
            yield RuleFinding(f"{path}.name", message, "rename one of them")
        names.setdefault(name, path)
        if job.value(f"{path}.maxRetry") != -1:  # No limit.
            job.count(f"{path}.maxRetry", 0)


def pod_names_are_short(job: WorkloadDocument) -> Iterator[RuleFinding]:
    """The names of pods are their host names."""
    named = job.text("metadata.name")
    length = len(named) if named else min(len(job.text("metadata.generateName")), MAX_LABEL - _GENERATED) + _GENERATED
    for place in range(job.length("spec.tasks")):
        path = f"spec.tasks[{place}]"
        last = f"-{name_of(job, place)}-{max(job.count(f'{path}.replicas', 0), 1) - 1}"
        if length <= MAX_LABEL < length + len(last):
            message = f"the name of its last pod, {named or '*'}{last}, is longer than {MAX_LABEL} characters"
            yield RuleFinding(f"{path}.name", message, "write a shorter name for the job or the task")


def minimums_are_within_replicas(job: WorkloadDocument) -> Iterator[RuleFinding]:
    total = 0
    for place in range(job.length("spec.tasks")):
        path = f"spec.tasks[{place}]"
        replicas, minimum = job.count(f"{path}.replicas", 0), minimum_of(job, path)
        total += replicas
        if minimum > replicas:
            message = f"'minAvailable' is greater than 'replicas' in task: {minimum} is above {replicas}"
            yield RuleFinding(f"{path}.minAvailable", message, "write at most the replicas of the task")
    if total > _MAX_REPLICAS:
        message = f"the replicas of all tasks are {total}, above {_MAX_REPLICAS}, the most pods of a cluster"
        yield RuleFinding("spec.tasks", message, "write fewer replicas")
    minimum = job.count("spec.minAvailable", 0)
    if minimum > total:
        message = f"job 'minAvailable' should not be greater than total replicas: {minimum} is above {total}"
        yield RuleFinding("spec.minAvailable", message, "write at most the replicas of all tasks")
    success = job.value("spec.minSuccess")
    if success is not None and not 1 <= job.count("spec.minSuccess", 1) <= total:
        message = f"{success} is not from 1 to the total replicas, {total}"
        yield RuleFinding("spec.minSuccess", message, "write how many pods must succeed")


def counts_are_not_negative(job: WorkloadDocument) -> Iterator[RuleFinding]:
    """Comes before the rules that use the numbers."""
    messages = {
        "spec.minAvailable": "job 'minAvailable' must be >= 0",
        "spec.maxRetry": "'maxRetry' cannot be less than zero",
        "spec.ttlSecondsAfterFinished": "'ttlSecondsAfterFinished' cannot be less than zero",
    }
    for place in range(job.length("spec.tasks")):
        name = name_of(job, place)
        for field in ("replicas", "minAvailable"):
            messages[f"spec.tasks[{place}].{field}"] = f"'{field}' < 0 in task: {name}"
    for field, message in messages.items():
        value = job.value(field)
        if isinstance(value, int) and value < 0:
            yield RuleFinding(field, message, "write 0 or more")
        else:
            job.count(field, 0)


def dependencies_are_acyclic(job: WorkloadDocument) -> Iterator[RuleFinding]:
    tasks = range(job.length("spec.tasks"))
    graph: dict[str, list[str]] = {name_of(job, place): [] for place in tasks}
    for place in tasks:
        path, name = f"spec.tasks[{place}].dependsOn", name_of(job, place)
        iteration = job.text(f"{path}.iteration")
        if iteration not in _ITERATIONS:
            yield RuleFinding(f"{path}.iteration", f"{iteration!r} is neither 'any' nor 'all'", "write one of them")
        for number in range(job.length(f"{path}.name")):
            other = job.text(f"{path}.name[{number}]")
            if other in graph:
                graph[name].append(other)
            else:
                yield RuleFinding(f"{path}.name[{number}]", f"{_NOT_A_DAG}: task {other!r} does not exist", _OTHER_TASK)
    if cycle := cycle_in(graph):
        message = f"{_NOT_A_DAG}: {' depends on '.join(cycle)}"
        yield RuleFinding("spec.tasks", message, "remove one of these dependencies")


JOB_RULES: tuple[Rule, ...] = (
    counts_are_not_negative,
    name_is_valid,
    tasks_are_valid,
    pod_names_are_short,
    minimums_are_within_replicas,
    dependencies_are_acyclic,
    policies_are_valid,
    volumes_are_valid,
    partitions_are_valid,
    network_topologies_are_valid,
    numa_policies_are_valid,
    templates_are_valid,
)
