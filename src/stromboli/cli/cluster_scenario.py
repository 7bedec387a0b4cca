"""The cluster that a command shows: a living one or manifests, and the policy that schedules it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stromboli.cli.options.connection import connection_options
from stromboli.cli.options.listing import job_namespace_option, watch_option
from stromboli.cli.options.live import installation_option
from stromboli.cli.options.settings import (
    conf_option,
    option_group,
    output_option,
    paths_option,
    plugin_option,
    scheduler_name_option,
)
from stromboli.cli.options.times import now_option
from stromboli.cli.scenario import Scenario, read_scenario

if TYPE_CHECKING:
    from stromboli.kube import KubeObject

_SCENARIO = ("paths", "conf", "now", "scheduler_names", "plugins", "kubeconfig", "context", "master", "installation")
#: The options of `read_view`.
view_options = option_group(
    paths_option("Or a scheduler dump. Those with nodes are shown instead of a cluster, others are added to it."),
    connection_options,
    installation_option,
    conf_option("Default: that of the scheduler of the cluster, else the default configuration."),
    now_option("The current time, such as 2026-01-01T12:00:00Z, for reproducible results. Default: the clock."),
    scheduler_name_option("Schedule pods with this scheduler name. Repeatable."),
    plugin_option("Your own plugin or action that the policy may name. Repeatable."),
)
#: The options of commands that show one job.
job_view_options = option_group(job_namespace_option, output_option(), view_options)
#: The options of commands that list what a cluster consists of.
watched_view_options = option_group(output_option(), watch_option, view_options)


def read_view(options: Mapping[str, Any]) -> Scenario:
    """Read the cluster of the options. Invalid input ends the command with a message."""
    chosen = {name: options[name] for name in _SCENARIO}
    return read_scenario(cycles=1, seed=0, shard_mode="none", shard_name="", shard_selector="", **chosen)


def objects_of(scenario: Scenario) -> list[KubeObject]:
    """Return the objects of manifests or of a dump."""
    return list(scenario.objects if scenario.dump is None else scenario.dump.contents.objects)  # type: ignore[arg-type]
