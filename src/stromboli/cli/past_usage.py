"""Past usage as input of plans: that of a history, or a warning that nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.scenario import Scenario

AnyScenario = TypeVar("AnyScenario", bound=Scenario)

_UNKNOWN = "the policy reads past usage, which is not known here: the result assumes that nothing was used"
_REMEDY = f"{_UNKNOWN}; name a history with --history"
#: Of schedulers that answer questions.
_UNRECORDED = f"{_UNKNOWN}; the scheduler records no history"


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
    return with_history(scenario, find_history(options) if scenario.is_live else options["history_address"], _REMEDY)


def with_history(scenario: AnyScenario, address: str, unknown: str = _UNRECORDED) -> AnyScenario:
    """Return the scenario with the past usage of a history if its policy reads it; without an address, with a warning.
    A history that cannot be read ends the command.
    """
    if not scenario.program.reads_past_usage:
        return replace(scenario, history=address)
    if not address:
        return replace(scenario, warnings=[*scenario.warnings, unknown])
    from stromboli.history.usage.runs import load_usage

    with open_history(address) as database:
        return replace(scenario, past_usage=load_usage(database), history=address)
