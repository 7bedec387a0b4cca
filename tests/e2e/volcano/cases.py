"""Situations of Volcano's end-to-end suites as data: what is submitted, and what must happen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

FOLDER = Path(__file__).parent
SUITES = FOLDER / "suites"
#: Stands for the prefix of the names of a case's nodes.
NODE_PREFIX = "$(nodes)"


class _Part(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A misspelt field is a mistake, not a step that does nothing."""


class Nodes(_Part):
    """Equal nodes."""

    count: int = 1
    resources: dict[str, str] = msgspec.field(default_factory=lambda: {"cpu": "4", "memory": "8Gi"})
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: list[dict[str, str]] = msgspec.field(default_factory=list)


class Task(_Part):
    """Equal pods of a workload."""

    pods: int = 1
    requests: dict[str, str] = msgspec.field(default_factory=dict)
    command: str = ""
    restart: str = "Never"
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    #: More fields of the spec of the pods.
    spec: dict[str, Any] = msgspec.field(default_factory=dict)


class Workload(Task):
    """A workload: bare pods in a PodGroup (Gang), replicas in a PodGroup that are replaced (Replicas), an object of
    Kubernetes, or bare pods without a group (Pods).

    A Gang may have several `tasks` instead of one, by role. Its `minimum` defaults to the number of its pods, and its
    minResources to what so many of its pods request.
    """

    name: str = ""
    kind: str = "Gang"
    queue: str = ""
    minimum: int | None = None
    priority: str = ""
    tasks: dict[str, Task] = msgspec.field(default_factory=dict)
    #: More fields of the spec of the PodGroup, and its annotations.
    group: dict[str, Any] = msgspec.field(default_factory=dict)
    group_annotations: dict[str, str] = msgspec.field(default_factory=dict)
    #: More fields of the spec of the owner.
    owner: dict[str, Any] = msgspec.field(default_factory=dict)


class Expected(_Part):
    """What is observed of a workload, or of one task of it as `name/task`; fields that are not set may be anything."""

    running: int | None = None
    #: Pods without a node, for which the scheduler has reported it, or all of them.
    pending: int | None = None
    unbound: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    #: The least number of restarts.
    restarts: int | None = None
    #: The phase of the PodGroup.
    phase: str | None = None
    #: A part of the condition Unschedulable of the PodGroup, or of PodScheduled of a waiting pod.
    because: str | None = None
    #: A reason of an event about the PodGroup or its pods.
    event: str | None = None
    no_event: str | None = None
    #: The number of different nodes, the names of all nodes, and the different values of a label of the nodes.
    nodes: int | None = None
    hosts: list[str] | None = None
    labels: dict[str, int] | None = None
    #: A condition of the owner that is true.
    condition: str | None = None


class Patch(_Part):
    """A merge patch, or of the status."""

    kind: str
    name: str
    body: dict[str, Any]
    subresource: str = ""


class Typed(_Part):
    """A command that is typed, and a part of what it prints or of its error."""

    command: str
    prints: str = ""
    fails: bool = False


class CaseStep(_Part):
    """One thing that is done, or observed."""

    submit: list[Workload] = msgspec.field(default_factory=list)
    create: list[dict[str, Any]] = msgspec.field(default_factory=list)
    patch: Patch | None = None
    delete: list[str] = msgspec.field(default_factory=list)
    types: Typed | None = None
    expect: dict[str, Expected] = msgspec.field(default_factory=dict)
    queues: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)


class Case(_Part):
    """A situation, what Volcano does, and what Stromboli does: the same, or the title of a difference in
    docs/compatibility.md.
    """

    name: str
    situation: str
    volcano: str
    steps: list[CaseStep]
    stromboli: str = ""
    differs: str = ""
    configuration: str = ""
    queues: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    nodes: list[Nodes] = msgspec.field(default_factory=list)
    #: Why the embedded server is not sufficient.
    needs_real: str = ""


class Suite(_Part):
    """Cases that share a configuration and nodes, unless they have their own."""

    title: str
    configuration: str
    cases: list[Case]
    nodes: list[Nodes] = msgspec.field(default_factory=lambda: [Nodes(count=2)])


def suite_names() -> list[str]:
    return sorted(path.stem for path in SUITES.glob("*.yaml"))


def load_suite(name: str, node_prefix: str = NODE_PREFIX) -> Suite:
    text = (SUITES / f"{name}.yaml").read_text().replace(NODE_PREFIX, node_prefix)
    return msgspec.convert(yaml.safe_load(text), Suite)
