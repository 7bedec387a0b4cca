"""What can be asked about a namespace, and the answers: the contract of clients, server and answering process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

GROUP, VERSION = "visibility.stromboli.dev", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
ROOT = f"/apis/{API_VERSION}"
#: The size of an answer in bytes: the scheduler holds two at a time.
MAX_ANSWER = 16 << 20
#: The output formats of an answer; `json` has the result as data, the others as a text.
OUTPUTS = ("json", "table", "wide", "yaml", "name")


@dataclass(frozen=True, slots=True)
class AskedResource:
    """A resource of the API, in a namespace. A subresource is written after a slash."""

    name: str
    verbs: tuple[str, ...]
    kind: str = "Answer"
    is_namespaced: bool = True


RESOURCES = (
    AskedResource("plans", ("create", "list")),
    AskedResource("jobs", ("get", "list")),
    AskedResource("jobs/explanation", ("get",)),
    AskedResource("queues", ("list",)),
    AskedResource("history", ("get", "list")),
)
CYCLES = AskedResource("cycles", ("list",), "CycleList", is_namespaced=False)
"""What recent cycles decided, about all namespaces: for the console, which shows people what they may read."""

#: Parameters of questions, besides `output`.
PARAMETERS = ("explain", "when", "plan", "queue", "waiting", "selector", "since", "state", "limit")
#: Parameters that clients of Kubernetes add.
_OF_API_SERVERS = ("timeout", "pretty", "fieldManager", "fieldValidation", "dryRun")


class Question(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A question about a namespace."""

    resource: str
    namespace: str
    name: str = ""
    output: str = "json"
    #: Lists are separated by commas.
    parameters: dict[str, str] = {}
    #: Objects that are about to be submitted; None if none are part of the question.
    objects: list[dict[str, Any]] | None = None

    @property
    def path(self) -> str:
        """The path at the API server."""
        resource, _, part = self.resource.partition("/")
        steps = [quote(self.namespace, safe=""), resource, quote(self.name, safe=""), part]
        return f"{ROOT}/namespaces/{'/'.join(step for step in steps if step)}"

    @property
    def verb(self) -> str:
        """The verb that the person must be allowed."""
        if self.objects is not None:
            return "create"
        return "get" if self.name else "list"

    def text(self, parameter: str) -> str:
        return self.parameters.get(parameter, "")

    def entries(self, parameter: str) -> list[str]:
        return [entry for entry in self.text(parameter).split(",") if entry]

    def is_set(self, parameter: str) -> bool:
        """Report whether a parameter is set to something other than `false`."""
        return self.text(parameter) not in ("", "false", "0")


class VisibilityAnswer(msgspec.Struct, rename="camel"):
    """The answer: data, or a text in the format of the question."""

    kind: str = "Answer"
    api_version: str = API_VERSION
    #: The exit code of the command: 0, or 3 if a job waits.
    exit_code: int = 0
    warnings: list[str] = []
    result: Any = None
    text: str | None = None
    #: Why the question cannot be answered; then there is nothing else.
    problem: str | None = None


def question_of(
    path: Mapping[str, str], query: Mapping[str, str], objects: list[dict[str, Any]] | None = None
) -> Question:
    """Return the question of a request. Raises ValueError for an unknown parameter or format."""
    parameters = {name: value for name, value in query.items() if name not in ("output", *_OF_API_SERVERS)}
    if unknown := sorted(parameters.keys() - set(PARAMETERS)):
        raise ValueError(f"unknown parameter {', '.join(unknown)}; known: output, {', '.join(PARAMETERS)}")
    output = query.get("output", "json")
    if output not in OUTPUTS:
        raise ValueError(f"output {output!r} is not one of {', '.join(OUTPUTS)}")
    resource = "/".join(filter(None, (path["resource"], path.get("part"))))
    return Question(resource, path["namespace"], path.get("name", ""), output, parameters, objects)
