"""The cluster that a command shows: manifests, and the policy that would schedule them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import (
    conf_option,
    option_group,
    paths_option,
    plugin_option,
    scheduler_name_option,
)
from stromboli.cli.options.times import now_option
from stromboli.cli.scenario import Scenario, read_scenario

if TYPE_CHECKING:
    from stromboli.kube import KubeObject

_SCENARIO = ("paths", "conf", "now", "scheduler_names", "plugins")
#: The options of `read_view`.
view_options = option_group(
    paths_option("Or a scheduler dump. Instead of a cluster."),
    conf_option(),
    now_option("The current time, such as 2026-01-01T12:00:00Z, for reproducible results. Default: the clock."),
    scheduler_name_option("Schedule pods with this scheduler name. Repeatable."),
    plugin_option("Your own plugin or action that the policy may name. Repeatable."),
)


def read_view(options: Mapping[str, Any]) -> Scenario:
    """Read the cluster of the options. Invalid input ends the command with a message."""
    if not options["paths"]:
        raise click.UsageError("Missing option '-f' / '--filename'.")
    chosen = {name: options[name] for name in _SCENARIO}
    return read_scenario(cycles=1, seed=0, shard_mode="none", shard_name="", shard_selector="", **chosen)


def objects_of(scenario: Scenario) -> list[KubeObject]:
    """Return the objects of manifests or of a dump."""
    return list(scenario.objects if scenario.dump is None else scenario.dump.contents.objects)  # type: ignore[arg-type]
