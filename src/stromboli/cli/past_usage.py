"""Past usage as input of plans: that of a history, or a warning that nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.scenario import Scenario

_UNKNOWN = (
    "the policy reads past usage, which is not known here: the result assumes that nothing was used; "
    "name a history with --history"
)


def past_usage_option(also: str = "") -> Callable[[Any], Any]:
    """Define the option that names the history; `also` is what else it is read for."""
    return history_option(
        f"The history with past usage{also}: a file, or the DSN of a PostgreSQL server. Default for past usage in a "
        "cluster: that of stromboli up, if the kubeconfig is that of its cluster."
    )


def with_past_usage(scenario: Scenario, options: Mapping[str, Any]) -> Scenario:
    """Return the scenario with the past usage of the history of the options, or of its cluster, if its policy reads
    it.
    """
    if not scenario.program.reads_past_usage:
        return scenario
    address = find_history(options) if scenario.is_live else options["history_address"]
    if not address:
        return replace(scenario, warnings=[*scenario.warnings, _UNKNOWN])
    from stromboli.history.usage.runs import load_usage

    with open_history(address) as database:
        return replace(scenario, past_usage=load_usage(database))
