"""The Python API with processes: what an import loads, and comparisons in parallel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import stromboli as sb

_LOADED = "import sys, stromboli; print([n for n in sys.modules if 'stromboli' in n or n in ('numpy', 'typing')])"


def test_import_of_the_package_loads_nothing_else() -> None:
    place = {"PYTHONPATH": str(Path(sb.__file__).parents[1])}
    command = [sys.executable, "-S", "-c", _LOADED]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=place).stdout
    assert printed.strip() == "['stromboli']"


def test_comparison_in_processes_equals_the_one_in_this_process() -> None:
    trace = sb.Trace.lublin(80, processors=16, seed=2)
    policies = [
        sb.Policy(["gang", "predicates"], arguments={"backfill": {"strategy": strategy}}, name=strategy)
        for strategy in ("easy", "conservative")
    ]
    counts: list[tuple[int, int]] = []
    parallel, single = (
        sb.compare(trace, policies, seeds=2, workers=workers, layout="pool", progress=lambda *done: counts.append(done))
        for workers in (2, 1)
    )
    assert parallel.figures == single.figures
    assert counts == [(1, 4), (2, 4), (3, 4), (4, 4)] * 2
