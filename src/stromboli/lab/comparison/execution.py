"""One run of a comparison, in whatever process. Equal runs give equal bytes everywhere."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from stromboli.core.config.configuration import ConfigurationError
from stromboli.core.config.plugin import PluginFailure
from stromboli.core.config.registry import RegistrationError
from stromboli.lab.comparison.experiment import PlannedRun, version_of_code
from stromboli.lab.measures import measures_of
from stromboli.lab.running import simulate
from stromboli.simulator.results.storage import write_run
from stromboli.traces.trace import TraceError

#: A cycle creates many objects that reference counting frees.
_GC_THRESHOLD = (50_000, 20, 100)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What has become of a run: nothing but its key, or why it failed."""

    key: str
    error: str = ""
    #: The stored run, from processes that do not share the folder.
    content: bytes = b""


def execute(planned: PlannedRun, target: Path) -> RunOutcome:
    """Run and store the result. Invalid input and failures of plugins are an error of this run."""
    gc.set_threshold(*_GC_THRESHOLD)
    setting = planned.setting
    try:
        trace = setting.trace.open()
        run = simulate(
            trace, planned.policy.program(), replace(setting.options, seed=planned.seed),
            policy=planned.policy.label, nodes=setting.nodes, objects=setting.objects,
            scheduler_names=setting.scheduler_names, until=setting.until,
        )  # fmt: skip
    except (TraceError, PluginFailure, ConfigurationError, RegistrationError) as error:
        return RunOutcome(planned.key, f"{planned.policy.label}, seed {planned.seed}: {error}")
    run = replace(run, trace=setting.trace.name)
    skipped = [text.replace(setting.trace.path, setting.trace.name) for text in trace.rejected.warnings()]
    write_run(run, target, {**measures_of(run), "warnings": [*skipped, *run.warnings]})
    return RunOutcome(planned.key)


def execute_elsewhere(planned: PlannedRun, files: Mapping[str, bytes]) -> RunOutcome:
    """Run on a machine that shares no files, and return the stored run."""
    if planned.version != version_of_code():
        message = f"the worker has version {version_of_code()} of stromboli, the comparison {planned.version}"
        return RunOutcome(planned.key, f"{message}; install the same one")
    with TemporaryDirectory() as folder:
        setting = planned.setting
        for path, content in zip(setting.trace.at(Path(folder)).paths, files.values(), strict=True):
            Path(path).write_bytes(content)
        moved = replace(setting, trace=setting.trace.at(Path(folder)))
        outcome = execute(replace(planned, setting=moved), Path(folder) / planned.key)
        if outcome.error:
            return replace(outcome, error=outcome.error.replace(f"{folder}/0-", ""))
        return replace(outcome, content=(Path(folder) / planned.key).read_bytes())
