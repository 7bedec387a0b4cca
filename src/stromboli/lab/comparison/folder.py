"""The finished runs of comparisons: a file per run, named by its key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.results.storage import StoredRunError, read_run, read_statistics

_SUFFIX = ".run"


class RunFolder:
    def __init__(self, path: Path) -> None:
        """Create the folder. Raises OSError."""
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    def file(self, key: str) -> Path:
        return self.path / f"{key}{_SUFFIX}"

    def has(self, key: str) -> bool:
        """Report whether a run is complete. A damaged file is a run that is missing."""
        try:
            read_statistics(self.file(key))
        except StoredRunError:
            return False
        return True

    def statistics(self, key: str) -> dict[str, Any]:
        return read_statistics(self.file(key))

    def run(self, key: str) -> SimulationRun:
        return read_run(self.file(key))

    def store(self, key: str, content: bytes) -> None:
        part = self.file(key).with_suffix(".part")
        part.write_bytes(content)
        part.replace(self.file(key))
