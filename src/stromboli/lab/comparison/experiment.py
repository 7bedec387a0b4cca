"""The runs of a comparison. Each has a key: a digest of all that decides its result.

Equal keys are equal results, so that a finished run is done once: a comparison that was interrupted, or that gets
another policy or more seeds, continues with the runs that are missing.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from math import inf
from pathlib import Path

import msgspec

import stromboli
from stromboli import kube
from stromboli.lab.policy import PolicySource
from stromboli.lab.running import SCHEDULER_NAMES
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.traces.formats.columns import mapping_names
from stromboli.traces.opening import open_trace
from stromboli.traces.trace import Trace, TraceError, TraceNode


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """A trace in files, which other processes open as well."""

    path: str
    form: str = ""
    nodes: str = ""
    mapping: str = ""
    #: The name of the trace in results, which is the same wherever the files are.
    name: str = ""

    def open(self) -> Trace:
        """Raises TraceError."""
        return open_trace(self.path, self.form, nodes=self.nodes, mapping=self.mapping)

    @property
    def paths(self) -> list[str]:
        mapping = "" if self.mapping in mapping_names() else self.mapping
        return [path for path in (self.path, self.nodes, mapping) if path]

    def content(self) -> dict[str, bytes]:
        """Return the content of all files by path. Raises TraceError."""
        try:
            return {path: Path(path).read_bytes() for path in self.paths}
        except OSError as error:
            raise TraceError(
                f"{error.filename}: {error.strerror}; a comparison reads files: write other traces into one with "
                "`stromboli trace convert`"
            ) from error

    def at(self, folder: Path) -> TraceFiles:
        """Return the same files below another folder, by number."""
        moved = {path: str(folder / f"{number}-{Path(path).name}") for number, path in enumerate(self.paths)}
        return replace(
            self, path=moved[self.path], nodes=moved.get(self.nodes, ""), mapping=moved.get(self.mapping, self.mapping)
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs of a comparison have in common."""

    trace: TraceFiles
    options: ReplayOptions
    nodes: tuple[TraceNode, ...] = ()
    objects: tuple[kube.KubeObject, ...] = ()
    scheduler_names: tuple[str, ...] = SCHEDULER_NAMES
    until: float = inf


@dataclass(frozen=True, slots=True)
class PlannedRun:
    setting: Setting
    policy: PolicySource
    seed: int
    key: str
    #: Of the code that must run it.
    version: str


def planned_runs(setting: Setting, policies: Sequence[PolicySource], seeds: Sequence[int]) -> list[PlannedRun]:
    """Return the runs in the order seed by seed, so that all policies have results early. Raises TraceError."""
    common = _digest(*_setting_parts(setting))
    runs = []
    for seed in seeds:
        for policy in policies:
            parts = (common, policy.label, repr(policy.text), *map(_plugin_source, policy.plugins), str(seed))
            runs.append(PlannedRun(setting, policy, seed, _digest(version_of_code(), *parts)[:32], version_of_code()))
    return runs


def _setting_parts(setting: Setting) -> Iterator[str]:
    for content in setting.trace.content().values():
        yield hashlib.sha256(content).hexdigest()
    trace = setting.trace
    yield repr((trace.name, trace.form, bool(trace.nodes), Path(trace.mapping).name))
    yield repr((setting.options, setting.nodes, setting.scheduler_names, setting.until))
    for entry in setting.objects:
        yield entry.kind_name + msgspec.json.encode(entry).decode()


def _plugin_source(reference: str) -> str:
    module = import_module(reference.partition(":")[0])
    return reference + inspect.getsource(module)


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


@cache
def version_of_code() -> str:
    """Return the version with a digest of all modules: a changed checkout is another version."""
    package = Path(stromboli.__file__).parent
    digest = hashlib.sha256()
    for module in sorted(package.rglob("*.py")):
        digest.update(module.relative_to(package).as_posix().encode() + b"\0" + module.read_bytes())
    return f"{stromboli.__version__}+{digest.hexdigest()[:16]}"
