"""What a report contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stromboli.lab.comparison.comparison import Comparison
from stromboli.lab.pictures.catalogue import Picture


@dataclass(frozen=True, slots=True)
class Report:
    comparison: Comparison
    verdicts: Sequence[str]
    pictures: Sequence[Picture]
    #: The configurations by policy; None is the default one.
    configurations: Mapping[str, str | None]
    warnings: Sequence[str] = ()
    #: The command that made it, for those who read it.
    command: str = ""
