"""Flags of Volcano's scheduler that have no meaning here: accepted, so that a manifest works unchanged, with a word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from stromboli.cli.output import warn

Command = TypeVar("Command", bound=Callable[..., Any])

_EVERY_NODE = "every node is looked at in every cycle"
_PLAIN = "the endpoints speak plain HTTP"
_ENDPOINT = "an endpoint is there when it has an address"

#: By flag, why it changes nothing.
IGNORED: dict[str, str] = {
    "--minimum-feasible-nodes": _EVERY_NODE,
    "--minimum-percentage-nodes-to-find": _EVERY_NODE,
    "--percentage-nodes-to-find": _EVERY_NODE,
    "--node-worker-threads": "nodes are not handled one by one",
    "--resync-period": "watches are checked by themselves",
    "--resource-sync-timeout": "the first lists are waited for, as long as it takes",
    "--plugins-dir": "plugins come from installed packages or --plugin",
    "--csi-storage": "storage is counted where a CSIDriver says that it can be",
    "--ignored-provisioners": "volumes are counted only against limits that a CSINode states",
    "--priority-class": "priority classes are always read",
    "--enable-healthz": _ENDPOINT,
    "--enable-metrics": _ENDPOINT,
    "--enable-pprof": "there is no profiler",
    "--cache-dumper": "signals USR1 and USR2 always dump",
    "--gate-removal-worker-num": "scheduling gates are left to whoever set them",
    "--lock-object-namespace": "use --leader-elect-resource-namespace",
    "--feature-gates": "there are none",
    "--log-flush-frequency": "lines are written at once",
    "-v": "use --log-level",
    "--ca-cert-file": _PLAIN,
    "--tls-cert-file": _PLAIN,
    "--tls-private-key-file": _PLAIN,
    "--leader-elect-resource-lock": "leases are the only kind of lock",
}


def ignored_flags(command: Command) -> Command:
    """Let the command accept the flags. They stay out of the help, as nobody should begin to use them."""
    for flag in IGNORED:
        command = click.option(flag, _variable(flag), default=None, hidden=True, is_flag=False, flag_value="true")(
            command
        )
    return command


def warn_about_ignored(options: Mapping[str, Any]) -> None:
    given = [flag for flag in IGNORED if options.get(_variable(flag)) is not None]
    warn(f"{flag} changes nothing: {IGNORED[flag]}" for flag in given)


def _variable(flag: str) -> str:
    return "ignored_" + flag.strip("-").replace("-", "_")
