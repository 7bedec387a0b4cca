"""Pictures of runs, which notebooks show without further libraries."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stromboli.lab import pictures
from stromboli.lab.extra import MissingExtra
from stromboli.lab.measures.usage import primary_resource
from stromboli.lab.pictures.drawing import Spec
from stromboli.lab.pictures.rendering import png_of, svg_of
from stromboli.simulator.results.run import SimulationRun

if TYPE_CHECKING:
    from stromboli.python.runs import TraceRun

_MIME_TYPE = "application/vnd.vegalite.v6+json"


class RunPlots:
    """Pictures of a run. Those that compare accept further runs."""

    def __init__(self, run: SimulationRun) -> None:
        self._run = run

    def gantt(self) -> Plot:
        """Draw when jobs waited and ran."""
        return Plot(pictures.job_gantt(self._run))

    def node_gantt(self) -> Plot:
        """Draw which jobs ran on which node."""
        return Plot(pictures.node_gantt(self._run))

    def nodes(self) -> Plot:
        """Draw how much of each node was used over time."""
        return Plot(pictures.node_map(self._run))

    def queues(self) -> Plot:
        """Draw what queues used over time."""
        return Plot(pictures.queue_areas(self._run))

    def shares(self) -> Plot:
        """Draw what queues used and what they deserved."""
        return Plot(pictures.queue_shares(self._run))

    def utilisation(self, *others: TraceRun, resource: str = "") -> Plot:
        """Draw the used part of `cpu`, `memory` or `gpu` over time; by default GPUs, if there are any."""
        return Plot(pictures.utilisation(self._with(others), resource or primary_resource(self._run)))

    def waiting(self, *others: TraceRun) -> Plot:
        """Draw the number of waiting jobs over time."""
        return Plot(pictures.waiting_jobs(self._with(others)))

    def waits(self, *others: TraceRun) -> Plot:
        """Draw the distribution of waits."""
        return Plot(pictures.wait_distribution(self._with(others)))

    def slowdown(self, *others: TraceRun) -> Plot:
        """Draw bounded slowdowns by the size of jobs."""
        return Plot(pictures.slowdown_by_size(self._with(others)))

    def _with(self, others: tuple[TraceRun, ...]) -> list[SimulationRun]:
        return [self._run, *(each.run for each in others)]

    def __repr__(self) -> str:
        return f"<Plots: {', '.join(name for name in dir(self) if not name.startswith('_'))}>"


class Plot:
    """A picture as a specification of Vega-Lite."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def to_dict(self) -> Spec:
        """Return the specification, for Altair and Vega-Lite."""
        return self._spec

    def save(self, path: str | Path) -> None:
        """Write the picture as `.svg` or `.png`, or its specification as `.json`. Raises MissingExtra and OSError."""
        writers: dict[str, Callable[[Spec], str | bytes]] = {".svg": svg_of, ".png": png_of, ".json": json.dumps}
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise ValueError(f"{path}: pictures are written as {', '.join(writers)}; choose one of these suffixes")
        content = writers[suffix](self._spec)
        Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self), _MIME_TYPE: self._spec}
        with contextlib.suppress(MissingExtra):
            bundle["image/svg+xml"] = svg_of(self._spec)
        return bundle

    def __repr__(self) -> str:
        title = self._spec.get("title", "")
        return f"<Plot: {title if isinstance(title, str) else title[0]}>"
