"""Expected starts for commands: the forecast of a scenario, and its options."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stromboli.cli.options.history import history_option, open_history
from stromboli.cli.output import plugin_failure

if TYPE_CHECKING:
    from collections.abc import Collection

    from stromboli.cli.scenario import Scenario
    from stromboli.history.run_times import LearnedRunTimes
    from stromboli.simulator.forecast.expected_starts import StartRange

learned_option = history_option("Learn run times from this history: a file, or the DSN of a PostgreSQL server.")


def forecast_of(
    scenario: Scenario, address: str, jobs: Collection[str] | None = None, seconds: float | None = None
) -> dict[str, StartRange]:
    """Return when the waiting jobs of a scenario are expected to start. `seconds` limit the calculation."""
    from stromboli.core.config.plugin import PluginFailure
    from stromboli.simulator.forecast.expected_starts import expected_starts

    end = None if seconds is None else time.monotonic() + seconds
    dump = scenario.dump
    try:
        return expected_starts(
            dump.contents.objects if dump else scenario.objects,  # type: ignore[arg-type]
            scenario.new_program(),
            now=dump.now if dump else time.time() if scenario.now is None else scenario.now,
            learned=_learned(address),
            jobs=jobs,
            seed=scenario.seed,
            scheduler_names=scenario.scheduler_names,
            shard=dump.contents.shard if dump else scenario.shard,
            placements=dump.contents.placements if dump else (),
            is_over=lambda: end is not None and time.monotonic() > end,
        )
    except PluginFailure as error:
        raise plugin_failure(error) from error


def _learned(address: str) -> LearnedRunTimes | None:
    from stromboli.history.run_times import learned_run_times

    if not address:
        return None
    with open_history(address) as database:
        return learned_run_times(database)
