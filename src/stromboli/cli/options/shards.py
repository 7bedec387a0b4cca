"""Options for the node shard of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.selectors import parse_selector
from stromboli.cli.options.settings import Command, option_group
from stromboli.cli.output import warn

if TYPE_CHECKING:
    from stromboli.core.model.nodes.shards import ShardChoice
    from stromboli.core.model.tasks.selectors import LabelSelector
    from stromboli.kube.election.leadership import Election
    from stromboli.scheduler.sharding.settings import ShardSettings

_MODE, _NAME, _SELECTOR = "--scheduler-sharding-mode", "--scheduler-sharding-name", "--shard-selector"
#: The parameters of `shard_options`.
SHARD_PARAMETERS = ("shard_mode", "shard_name", "shard_selector")


def shard_options(option: Callable[..., Callable[[Any], Any]]) -> Callable[[Command], Command]:
    """Define the options with `option`."""
    return option_group(
        option(
            _MODE, "shard_mode", type=click.Choice(["none", "hard", "soft"]), default="none",
            help="Use only the nodes of the shard of this scheduler (hard), or prefer them (soft).",
        ),
        option(_NAME, "shard_name", default="", metavar="NAME", help="The NodeShard of this scheduler."),
        option(
            _SELECTOR, "shard_selector", default="", metavar="SELECTOR",
            help="The nodes of the shard, by label selector as in kubectl; KEY= selects nodes without the label.",
        ),
    )  # fmt: skip


def shard_of(options: Mapping[str, Any]) -> ShardChoice | None:
    """Return the shard of the options of a command, or None. An invalid combination is a usage error."""
    from stromboli.core.model.nodes.shards import ShardChoice, ShardMode

    mode, name, selector = options["shard_mode"], options["shard_name"], options["shard_selector"]
    if mode == "none":
        if selector:
            raise click.UsageError(f"{_SELECTOR} needs a mode: add {_MODE} hard or {_MODE} soft.")
        if name:
            warn([f"{_NAME} has no effect without {_MODE} hard or soft"])
        return None
    if not name and not selector:
        raise click.UsageError(
            f"{_MODE} {mode} needs a shard: add {_NAME}, or choose nodes by labels with {_SELECTOR}."
        )
    return ShardChoice(ShardMode(mode), name, parse_shard_selector(selector) if selector else None)


def election_of_shard(shard: ShardChoice, election: Election | None, scheduler_names: Sequence[str]) -> Election:
    """Return the election of the schedulers of one shard; its lease carries their scheduler names."""
    from stromboli.scheduler.sharding.liveness import SCHEDULER_NAMES, lease_of

    if not shard.name:
        raise click.UsageError(
            f"A scheduler records the nodes it uses in a NodeShard: add {_NAME}. With {_SELECTOR} a missing one is "
            "created."
        )
    if election is None:
        raise click.UsageError(
            f"{_MODE} needs leader election, which shows other schedulers that this one is alive: remove "
            "--leader-elect=false."
        )
    lease = lease_of(shard.name) if election.name == "stromboli" else election.name
    return replace(election, name=lease, annotations={SCHEDULER_NAMES: ",".join(scheduler_names)})


def settings_of_shard(shard: ShardChoice, election: Election, takeover: float) -> ShardSettings:
    from stromboli.scheduler.sharding.settings import ShardSettings

    return ShardSettings(
        shard, election.namespace, election.identity, takeover,
        election.lease_duration, election.renew_deadline, election.retry_period,
    )  # fmt: skip


def parse_shard_selector(text: str) -> LabelSelector:
    """Parse the nodes of a shard: `KEY=` selects nodes without the label, as a partition of KAI without a value."""
    return parse_selector(text, _SELECTOR, empty_is_absent=True)


def parse_node_selector(pairs: Sequence[str]) -> dict[str, frozenset[str]]:
    """Parse the values of `--node-selector`."""
    from stromboli.core.model.nodes.node_selector import read_node_selector

    try:
        return read_node_selector(pairs)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--node-selector") from error
