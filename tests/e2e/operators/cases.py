"""What a controller of another project does, step by step, as a case file describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

FOLDER = Path(__file__).parent
GROUP_VERSION = "scheduling.volcano.sh/v1beta1"


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    """A misspelt field is a mistake, not a step that does nothing."""


class Kind(_Part):
    """A kind of the controller's own, of which the server learns no more than its name."""

    group: str
    version: str
    kind: str
    plural: str


class Named(_Part):
    """An object; a group, unless another version is given."""

    kind: str
    name: str
    api_version: str = msgspec.field(default=GROUP_VERSION, name="apiVersion")


class Change(_Part):
    """The controller reads an object, changes it, and writes it back whole."""

    kind: str
    name: str
    change: dict[str, Any]
    api_version: str = msgspec.field(default=GROUP_VERSION, name="apiVersion")


class Pods(_Part):
    """Pods by the beginning of their names: so many of them."""

    prefix: str
    count: int


class Phases(_Part):
    """A group, and the phases of which it reaches one."""

    name: str
    phases: list[str]


class Waiting(_Part):
    """A group that reports why it is pending, and none of whose pods is bound."""

    name: str
    because: str


class Expected(_Part):
    """What the controller reads in the status of a group."""

    name: str
    status: dict[str, Any]
    condition: str = ""


class Held(_Part):
    """The allocated amounts in the status of a queue."""

    name: str
    cpu: str


class Grouped(_Part):
    """The group that pods without one were given: named for their owner, with this spec."""

    pods: str
    owner: str
    spec: dict[str, Any]


class Step(_Part):
    """One thing that is done, waited for, or found to be so; with `each`, once for every word.

    In all texts `$(each)` is the word, `$(role each)` the word without the number at its end, and `$(uid Kind/name)`
    the uid of an object that was made before.
    """

    create: dict[str, Any] | None = None
    apply: dict[str, Any] | None = None
    update: Change | None = None
    delete: Named | None = None
    occupy: int = 0
    release: bool = False
    reaches: Phases | None = None
    waits: Waiting | None = None
    bound: Pods | None = None
    unbound: Pods | None = None
    status: Expected | None = None
    queue: Held | None = None
    grouped: Grouped | None = None
    each: list[str] = msgspec.field(default_factory=list)


class OperatorCase(_Part):
    """A controller in one version, its user, and its steps."""

    controller: str
    version: str
    user: str
    steps: list[Step]
    kinds: list[Kind] = msgspec.field(default_factory=list)
    queues: list[str] = msgspec.field(default_factory=list)
    priorities: dict[str, int] = msgspec.field(default_factory=dict)


def case_names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob("*/case.yaml"))


def load_case(name: str) -> OperatorCase:
    document = yaml.safe_load((FOLDER / name / "case.yaml").read_text())
    return msgspec.convert(document, OperatorCase)
