"""The contract of job plugins.

A plugin is pure: it has no client and writes nothing. It edits the manifests of pods, and describes the objects that
the pods need; the controller writes both. A plugin is created anew for every Job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import VolcanoTask


class PluginArgumentError(ValueError):
    """An invalid argument in `spec.plugins`; the Job gets it as a condition and an event."""

    def __init__(self, plugin: str, argument: str, message: str, remedy: str) -> None:
        self.plugin, self.argument, self.message, self.remedy = plugin, argument, message, remedy
        super().__init__(f"spec.plugins.{plugin}: argument {argument!r} {message}; {remedy}")


class PluginObject(NamedTuple):
    """An object that the pods of a Job need, in the namespace of the Job.

    The controller creates it before the pods if it is missing, with an owner reference to the Job, and deletes it when
    the pods are killed. An object of the same name that the Job does not own is an error of the Job.
    """

    api_version: str
    kind: str
    name: str
    #: Makes the manifest. It is called only to create the object, or for one that follows the tasks, to compare it.
    make: Callable[[], Mapping[str, Any]]
    #: Whether the object is changed when the manifest for the present Job differs. Keys must not: they are made once.
    follows_tasks: bool = False


class JobPlugin:
    """A plugin of one Job. Derived classes set `name` and override what they need. The other methods are not called
    if `findings` yields one that is not a warning.

    Raises PluginArgumentError for invalid arguments on creation, and in no other method.
    """

    #: The key in `spec.plugins`.
    name: ClassVar[str]
    #: Plugins that are enabled with this one, without arguments unless `spec.plugins` has some; they come first.
    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = tuple(arguments)

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        """Yield what in the Job the plugin cannot work with, such as a missing task or a name."""
        yield from ()

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        """Change the manifest of a task's pod in place. Nothing in it is shared with the template of the Job."""

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        """Return the objects that the pods need."""
        return ()
