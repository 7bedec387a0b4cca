"""Expected starts of waiting jobs, calculated beside the scheduler and reported on PodGroups and in metrics.

A forecast simulates many cycles, so it runs in a process of its own with the lowest priority, on a dump of the cache:
`stromboli forecast`. Only what has changed is reported, at most some hundred groups after each forecast.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump, DumpError, write_dump
from stromboli.kube.objects.timestamps import seconds_of
from stromboli.scheduler.reporting.expected_starts import ExpectedStarts, Range
from stromboli.workloads.queues import queue_name_of

if TYPE_CHECKING:
    from stromboli.scheduler.wiring import Components

log = logging.getLogger("stromboli.forecast")

#: The part of the period that a forecast may take.
_TIME = 0.5


class ForecastRange(msgspec.Struct):
    """The range of a job as the command prints it."""

    earliest: str
    latest: str | None = None


class ForecastReport(msgspec.Struct):
    """The output of the command."""

    jobs: dict[str, ForecastRange]


class Forecaster:
    """`command` is the command line of the forecast, without its arguments."""

    def __init__(
        self,
        components: Components,
        *,
        command: tuple[str, ...] = (sys.executable, "-m", "stromboli", "forecast"),
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._components = components
        self._command = command
        self._wall_clock = wall_clock
        self.starts = ExpectedStarts(components.cluster, components.writer, wall_clock)

    async def run(self) -> None:
        """Forecast periodically while this process leads and jobs wait, until cancelled."""
        components, period = self._components, self._components.options.forecast
        while True:
            await asyncio.sleep(period)
            if components.is_leader() and components.watches.is_up_to_date:
                await self.forecast()

    async def forecast(self) -> None:
        """Make one forecast and report it. Failures are logged and counted."""
        components, began = self._components, time.perf_counter()
        if not components.cluster.cluster_state().waiting:
            self._use({})
            return
        try:
            found = await self._calculated()
        except (DumpError, OSError, TimeoutError, ValueError) as error:
            components.metrics.forecasts.made("failed", time.perf_counter() - began)
            log.warning("forecast failed", extra={"error": str(error)})
            return
        components.metrics.forecasts.made("done", time.perf_counter() - began)
        self._use(found)

    def _use(self, found: Mapping[str, Range]) -> None:
        components = self._components
        groups = ((components.cluster.groups.get(key), latest) for key, (_, latest) in found.items())
        queue = partial(queue_name_of, default_queue=components.options.default_queue)
        components.metrics.forecasts.update(
            [(queue(group), latest) for group, latest in groups if group is not None], self._wall_clock()
        )
        self.starts.report(found)

    async def _calculated(self) -> dict[str, Range]:
        with tempfile.TemporaryDirectory(dir=self._components.options.dump_folder or None) as folder:
            path = Path(folder) / "forecast.json.gz"
            await asyncio.to_thread(write_dump, path, dump_of(self._components, self._wall_clock))
            return _ranges(await self._output_of(path))

    async def _output_of(self, path: Path) -> bytes:
        """Run the command. Raises ValueError if it fails."""
        options = self._components.options
        limit = max(options.forecast * _TIME, 1.0)
        plugins = [f"--plugin={reference}" for reference in options.plugins]
        process = await asyncio.create_subprocess_exec(
            *self._command, "-f", str(path), "-o", "json", f"--timeout={limit:.3f}s", *plugins,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "STROMBOLI_HISTORY": options.history},
        )  # fmt: skip
        try:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, 19)
            output, problems = await asyncio.wait_for(process.communicate(), 3 * limit + 60)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode not in (0, 3):
            raise ValueError(problems.decode(errors="replace").strip()[-500:] or f"exit code {process.returncode}")
        return output


def dump_of(components: Components, wall_clock: Callable[[], float] = time.time) -> Dump:
    """Return the present state and policy for other processes, without decisions."""
    options = {"defaultQueue": components.options.default_queue}
    return Dump(contents_of(components.cluster), wall_clock(), components.policy.text, options)


def _ranges(output: bytes) -> dict[str, Range]:
    report = msgspec.json.decode(output, type=ForecastReport)
    return {key: (seconds_of(each.earliest) or 0.0, seconds_of(each.latest)) for key, each in report.jobs.items()}
