"""Partitions of tasks, and constraints of their network and NUMA topology."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli import kube
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.requests import effective_requests

NUMA_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_MODES = ("hard", "soft")


def partitions_are_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    for place in range(job.length("spec.tasks")):
        path = f"spec.tasks[{place}]"
        if job.map(f"{path}.partitionPolicy"):
            yield from _partitions(job, path)


def _partitions(job: WorkloadDocument, task: str) -> Iterator[RuleFinding]:
    path = f"{task}.partitionPolicy"
    total, size = job.count(f"{path}.totalPartitions", 0), job.count(f"{path}.partitionSize", 0)
    replicas, minimum = job.count(f"{task}.replicas", 0), job.count(f"{path}.minPartitions", 0)
    for name, value in (("totalPartitions", total), ("partitionSize", size)):
        if value < 1:
            yield RuleFinding(f"{path}.{name}", "must be greater than 0", "write at least 1")
    if total and size and total * size != replicas:
        message = f"{total} partitions of {size} pods are {total * size} pods, but the task has {replicas} replicas"
        yield RuleFinding(path, message, "write totalPartitions and partitionSize whose product is the replicas")
    if minimum > total:
        yield RuleFinding(f"{path}.minPartitions", f"{minimum} is more than totalPartitions, {total}", "write fewer")
        return
    at_least = job.value(f"{task}.minAvailable")
    if minimum and at_least is not None and job.count(f"{task}.minAvailable", 0) != minimum * size:
        message = f"is {at_least}, but {minimum} partitions of {size} pods are {minimum * size}"
        yield RuleFinding(f"{task}.minAvailable", message, "remove it, or write the product")


def network_topologies_are_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    tasks = (f"spec.tasks[{place}].partitionPolicy" for place in range(job.length("spec.tasks")))
    for owner in ("spec", *tasks):
        path = f"{owner}.networkTopology"
        mode = job.text(f"{path}.mode")
        if mode and mode not in _MODES:
            yield RuleFinding(f"{path}.mode", f"{mode!r} is not a mode", f"use one of {', '.join(_MODES)}")
        job.count(f"{path}.highestTierAllowed", 0)
        if job.value(f"{path}.highestTierAllowed") is not None and job.text(f"{path}.highestTierName"):
            remedy = "keep highestTierAllowed or highestTierName, not both"
            yield RuleFinding(path, "both a tier number and a tier name are set", remedy)


def numa_policies_are_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    """A NUMA policy needs exclusive processors: the same whole number as request and limit."""
    for place in range(job.length("spec.tasks")):
        path = f"spec.tasks[{place}]"
        policy = job.text(f"{path}.topologyPolicy")
        if policy and policy not in NUMA_POLICIES:
            yield RuleFinding(
                f"{path}.topologyPolicy", f"{policy!r} is not a policy", f"use one of {', '.join(NUMA_POLICIES)}"
            )
        elif policy not in ("", "none"):
            yield from _exclusive_processors(job, f"{path}.template")


def _exclusive_processors(job: WorkloadDocument, template: str) -> Iterator[RuleFinding]:
    pod = as_type({"spec": job.template(template)["spec"]}, kube.Pod)
    for place, container in enumerate(pod.spec.containers or ()):
        field = f"{template}.spec.containers[{place}].resources"
        limits = (container.resources.limits if container.resources else None) or {}
        requested, limit = effective_requests(container.resources).get("cpu", 0), limits.get("cpu")
        try:
            amount = parse_quantity(requested, milli=True)
            if amount % 1000 or not amount:
                message = f"the cpu request isn't an integer: {requested}"
                yield RuleFinding(f"{field}.requests.cpu", message, "write a whole number, as the NUMA policy requires")
            elif limit is None or parse_quantity(limit, milli=True) != amount:
                message = "the cpu request is not equal to the limit"
                yield RuleFinding(f"{field}.limits.cpu", message, f"write {requested}, as the NUMA policy requires")
        except ValueError as error:
            yield RuleFinding(f"{field}.requests.cpu", str(error), "write a quantity such as 2")
