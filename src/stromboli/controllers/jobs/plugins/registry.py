"""The job plugins by name: built-in ones, and those of installed packages (entry points).

A package with an invalid plugin disables only this plugin: Jobs that name it get an error with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from stromboli.controllers.jobs.plugins.arguments import PluginWithFlags
from stromboli.controllers.jobs.plugins.env import EnvironmentPlugin
from stromboli.controllers.jobs.plugins.hcclrank import HcclRankPlugin
from stromboli.controllers.jobs.plugins.mpi import MpiPlugin
from stromboli.controllers.jobs.plugins.plugin import JobPlugin, PluginArgumentError
from stromboli.controllers.jobs.plugins.pytorch import PytorchPlugin
from stromboli.controllers.jobs.plugins.ray import RayPlugin
from stromboli.controllers.jobs.plugins.ringsconfigmap import RingsConfigMapPlugin
from stromboli.controllers.jobs.plugins.ssh import SshPlugin
from stromboli.controllers.jobs.plugins.svc import ServicePlugin
from stromboli.controllers.jobs.plugins.tensorflow import TensorflowPlugin
from stromboli.kube.manifests.errors import ObjectError
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.changes import JobChanges
from stromboli.workloads.families.volcano.rules.findings import RuleFinding, findings_by

ENTRY_POINTS = "stromboli.job_plugins"
#: The plugins that need no package.
BUILT_IN: tuple[type[PluginWithFlags], ...] = (
    EnvironmentPlugin,
    ServicePlugin,
    SshPlugin,
    PytorchPlugin,
    TensorflowPlugin,
    MpiPlugin,
    RayPlugin,
    HcclRankPlugin,
    RingsConfigMapPlugin,
)


_METHODS = ("__init__", "findings", "edit_pod", "objects")


class JobPlugins:
    """The known plugins, and why others of that name cannot be used."""

    def __init__(self, built_in: Iterable[type[JobPlugin]] = BUILT_IN) -> None:
        self.classes: dict[str, type[JobPlugin]] = {each.name: each for each in built_in}
        #: The error by name.
        self.unusable: dict[str, str] = {}

    def add(self, name: str, candidate: object) -> None:
        """Add a plugin, or the reason why it cannot be used. Built-in names and earlier plugins are kept."""
        if name in self.classes:
            return
        if error := _error_of(name, candidate):
            self.unusable[name] = error
        elif isinstance(candidate, type) and issubclass(candidate, JobPlugin):
            self.classes[name] = candidate

    def add_packages(self) -> None:
        """Add the plugins of all installed packages."""
        for entry_point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: (each.name, each.value)):
            try:
                self.add(entry_point.name, entry_point.load())
            except Exception as error:
                self.unusable[entry_point.name] = f"{_title(entry_point)} failed: {type(error).__name__}: {error}"

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        """Yield what is wrong with the plugins of a Job: a rule for Jobs."""
        try:
            plugins = self.of(job)
        except PluginArgumentError as error:
            message = f"argument {error.argument!r} {error.message}"
            yield RuleFinding(f"spec.plugins.{error.plugin}", message, error.remedy)
            return
        for plugin in plugins:
            yield from plugin.findings(job)

    def changes_of(self, job: WorkloadDocument) -> JobChanges:
        """Return the changes of the known plugins of a Job, for plans."""
        plugins = job.map("spec.plugins")
        known = {name: arguments for name, arguments in plugins.items() if name in self.classes}
        part = WorkloadDocument({**job.document, "spec": {**job.map("spec"), "plugins": known}}, job.name)
        findings = findings_by((self.findings,), part)
        changes = () if any(not each.is_warning for each in findings) else [each.edit_pod for each in self.of(part)]
        return JobChanges(changes, findings, [name for name in plugins if name not in known])

    def required_by(self, names: Iterable[str]) -> list[str]:
        """Return the plugins that those of these names require, directly or indirectly."""
        found: dict[str, None] = {}
        waiting = [name for name in names if isinstance(name, str)]
        while waiting:
            candidate = self.classes.get(waiting.pop())
            for name in candidate.requires if candidate else ():
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return sorted(found)

    def of(self, job: WorkloadDocument) -> list[JobPlugin]:
        """Return the plugins of a Job, required ones first. Raises ObjectError or PluginArgumentError."""
        found: dict[str, JobPlugin] = {}
        for name in job.map("spec.plugins"):
            self._enable(name, job, found)
        return list(found.values())

    def _enable(self, name: str, job: WorkloadDocument, found: dict[str, JobPlugin]) -> None:
        if name in found:
            return
        candidate = self.classes.get(name)
        if candidate is None:
            raise self._unknown(name, job)
        for required in candidate.requires:
            self._enable(required, job, found)
        found[name] = candidate(arguments_of(job, name))

    def _unknown(self, name: str, job: WorkloadDocument) -> ObjectError:
        if reason := self.unusable.get(name):
            return job.error(f"spec.plugins.{name}", f"cannot be used: {reason}", "correct or reinstall its package")
        known = ", ".join(sorted(self.classes)) or "none"
        remedy = f"use one of {known}, or install its package"
        return job.error(f"spec.plugins.{name}", f"unable to find job plugin: {name}", remedy)


@cache
def installed_plugins() -> JobPlugins:
    """Return the plugins of this installation; packages are searched once."""
    plugins = JobPlugins()
    plugins.add_packages()
    return plugins


def arguments_of(job: WorkloadDocument, plugin: str) -> Sequence[str]:
    """Return the arguments of a plugin, empty if the Job does not name it. Raises ObjectError."""
    arguments: Mapping[str, object] = job.map("spec.plugins")
    path = f"spec.plugins.{plugin}"
    present = arguments.get(plugin)
    if present is None:
        return ()
    if not isinstance(present, list) or not all(isinstance(each, str) for each in present):
        raise job.error(path, "expected a list of strings", 'write arguments such as ["--port=29500"], or []')
    return present


def _error_of(name: str, candidate: object) -> str:
    if not (isinstance(candidate, type) and issubclass(candidate, JobPlugin)):
        return f"{candidate!r} is not a class derived from JobPlugin"
    if getattr(candidate, "name", "") != name:
        return f"{candidate.__qualname__}.name is not the name of the entry point, {name!r}"
    for method in _METHODS:
        expected = list(inspect.signature(getattr(JobPlugin, method)).parameters)
        if len(inspect.signature(getattr(candidate, method)).parameters) != len(expected):
            return f"{candidate.__qualname__}.{method} must take ({', '.join(expected)})"
    return ""


def _title(entry_point: EntryPoint) -> str:
    package = f"package {entry_point.dist.name!r}" if entry_point.dist else "an installed package"
    return f"entry point {entry_point.name!r} ({entry_point.value}) of {package}"
