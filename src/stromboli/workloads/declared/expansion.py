"""Objects of described kinds: their roles, pods and group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from stromboli.kube.manifests.errors import description_of
from stromboli.workloads.declared.descriptions import EVERY, DescribedRole, KindDescription, read_descriptions
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion, ExpansionContext
from stromboli.workloads.gangs import OperatorGang, Role, expand_gang
from stromboli.workloads.registry import WorkloadFamily
from stromboli.workloads.templates import Kind


def read_described_kinds(paths: Sequence[str], stdin: TextIO | None = None) -> dict[Kind, WorkloadFamily]:
    """Read descriptions of kinds. Raises ManifestError."""
    return {kind: family_of(description) for kind, description in read_descriptions(paths, stdin).items()}


def family_of(description: KindDescription) -> WorkloadFamily:
    def expand(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
        return expand_gang(_gang(workload, description), context)

    return WorkloadFamily(expand, description.suspend)


def _gang(workload: WorkloadDocument, description: KindDescription) -> OperatorGang:
    roles = [role for described in description.roles for role in _roles(workload, described)]
    if not roles:
        path = description.roles[0].template
        raise workload.error(path.partition(EVERY)[0], "has no pod template", "write one, or correct the description")
    is_gang = description.group == "gang"
    total = sum(role.number for role in roles)
    return OperatorGang(
        workload,
        roles,
        group=workload.name if is_gang else "",
        minimum=total if description.min_member is None else _count(workload, description.min_member, total),
        queue=workload.text(description.queue) if description.queue else "",
        priority_class=workload.text(description.priority_class_name) if description.priority_class_name else "",
        group_labels=workload.labels,
        group_annotations=workload.annotations,
        scheduler=description.scheduler_name,
    )


def _count(workload: WorkloadDocument, described: str | int, default: int) -> int:
    return described if isinstance(described, int) else workload.count(described, default)


def _roles(workload: WorkloadDocument, described: DescribedRole) -> Iterator[Role]:
    """Yield the roles of a description that the object has: with neither template nor replicas it has none."""
    for key, path in _entries(workload, described.template):
        replicas, least = (_of_entry(each, key) for each in (described.replicas, described.min_replicas))
        has_replicas = isinstance(replicas, str) and workload.value(replicas) is not None
        if key is None and workload.value(path) is None and not has_replicas:
            continue
        yield Role(
            name=_name(workload, described, key),
            number=1 if replicas is None else _count(workload, replicas, 1),
            path=path,
            template=_template(workload, path),
            minimum=None if least is None else _count(workload, least, 0),
        )


def _entries(workload: WorkloadDocument, path: str) -> Iterator[tuple[str | None, str]]:
    """Yield the fields that a path stands for, with the key of their entry: a number, a name, or None."""
    before, found, after = path.partition(EVERY)
    if not found:
        yield None, path
        return
    entries = workload.value(before)
    if isinstance(entries, list):
        yield from ((str(place), f"{before}[{place}]{after}") for place in range(len(entries)))
    elif isinstance(entries, Mapping):
        yield from ((key, f"{before}[{key}]{after}") for key in sorted(entries))
    elif entries is not None:
        message = f"expected a list or a map, got {description_of(entries)}"
        raise workload.error(before, message, "write one entry per role")


def _of_entry(value: str | int | None, key: str | None) -> str | int | None:
    return value.replace(EVERY, f"[{key}]") if isinstance(value, str) and key is not None else value


def _name(workload: WorkloadDocument, described: DescribedRole, key: str | None) -> str:
    """Return the name of a role; entries have the name at the described field, or else their key."""
    if key is None:
        return described.name
    if EVERY in described.name:
        return workload.text(described.name.replace(EVERY, f"[{key}]")) or key
    return f"{described.name}-{key}" if described.name else key.lower()


def _template(workload: WorkloadDocument, path: str) -> Mapping[str, Any]:
    """Return a template; the field may be that of its spec."""
    found = workload.map(path)
    if "spec" not in found and "containers" in found:
        return workload.pod_spec(path)
    return workload.template(path)
