"""The volumes that all containers of a Job mount."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.names import SUBDOMAIN_REMEDY, subdomain_problem


def volumes_are_valid(job: WorkloadDocument) -> Iterator[RuleFinding]:
    mounted: dict[str, str] = {}
    for place in range(job.length("spec.volumes")):
        path = f"spec.volumes[{place}]"
        yield from _mount(job, path, mounted)
        yield from _claim(job, path)


def _mount(job: WorkloadDocument, path: str, mounted: dict[str, str]) -> Iterator[RuleFinding]:
    field = f"{path}.mountPath"
    mount = job.text(field)
    if not mount:
        yield RuleFinding(field, "mountPath is required", "write the path in the containers, such as /data")
    elif mount in mounted:
        yield RuleFinding(field, f"duplicated mountPath: {mount}, {mounted[mount]} has it already", "write another")
    elif ":" in mount:
        yield RuleFinding(field, f"{mount!r} contains ':'", "write a path without it")
    mounted.setdefault(mount, path)


def _claim(job: WorkloadDocument, path: str) -> Iterator[RuleFinding]:
    name, claim = job.text(f"{path}.volumeClaimName"), job.map(f"{path}.volumeClaim")
    if not name and not claim:
        message = "either VolumeClaim or VolumeClaimName must be specified"
        yield RuleFinding(path, message, "write volumeClaimName for an existing claim, or volumeClaim for a new one")
    if name and (problem := subdomain_problem(name)):
        yield RuleFinding(f"{path}.volumeClaimName", problem, SUBDOMAIN_REMEDY)
    if name and claim:
        message = f"is not used: the volume is that of claim {name}"
        yield RuleFinding(f"{path}.volumeClaim", message, "remove one of both", is_warning=True)
    if claim and not name:
        yield from _new_claim(job, f"{path}.volumeClaim")


def _new_claim(job: WorkloadDocument, path: str) -> Iterator[RuleFinding]:
    """Check what every API server requires of a claim."""
    if not job.length(f"{path}.accessModes"):
        yield RuleFinding(f"{path}.accessModes", "is missing", "write at least one, such as [ReadWriteOnce]")
    if not job.map(f"{path}.resources.requests").get("storage"):
        yield RuleFinding(f"{path}.resources.requests.storage", "is missing", "write the size, such as 10Gi")
