"""Expected starts for commands: the forecast of a scenario, and its options."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stromboli.cli.options.history import history_option, open_history
from stromboli.cli.output import plugin_failure

if TYPE_CHECKING:
    from collections.abc import Collection

    from stromboli.cli.scenario import Scenario
    from stromboli.core.model.usage.ledger import UsageLedger
    from stromboli.history.run_times import LearnedRunTimes
    from stromboli.simulator.forecast.expected_starts import StartRange

learned_option = history_option(
    "Learn run times from this history, and read past usage: a file, or the DSN of a PostgreSQL server."
)


def forecast_of(
    scenario: Scenario, address: str, jobs: Collection[str] | None = None, seconds: float | None = None
) -> dict[str, StartRange]:
    """Return when the waiting jobs of a scenario are expected to start. `seconds` limit the calculation."""
    from stromboli.core.config.plugin import PluginFailure
    from stromboli.simulator.forecast.expected_starts import expected_starts

    end = None if seconds is None else time.monotonic() + seconds
    dump = scenario.dump
    learned, past_usage = _recorded(scenario, address)
    try:
        return expected_starts(
            dump.contents.objects if dump else scenario.objects,  # type: ignore[arg-type]
            scenario.new_program(),
            now=dump.now if dump else time.time() if scenario.now is None else scenario.now,
            learned=learned,
            past_usage=past_usage,
            jobs=jobs,
            seed=scenario.seed,
            scheduler_names=scenario.scheduler_names,
            shard=dump.contents.shard if dump else scenario.shard,
            placements=dump.contents.placements if dump else (),
            is_over=lambda: end is not None and time.monotonic() > end,
        )
    except PluginFailure as error:
        raise plugin_failure(error) from error


def _recorded(scenario: Scenario, address: str) -> tuple[LearnedRunTimes | None, UsageLedger | None]:
    """Return the run times of the history at an address, and the usage of ended runs if the policy reads it: pods that
    run are those of the scenario.
    """
    from stromboli.history.run_times import learned_run_times
    from stromboli.history.usage.runs import load_runs

    learned, past_usage = None, None
    if address:
        with open_history(address) as database:
            learned = learned_run_times(database)
    if scenario.history and scenario.program.reads_past_usage:
        with open_history(scenario.history) as database:
            past_usage, _ = load_runs(database)
    return learned, past_usage
