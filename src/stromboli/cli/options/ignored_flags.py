"""Flags of Volcano's scheduler without effect: accepted with a warning, so that a manifest works unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from stromboli.cli.options.settings import Command
from stromboli.cli.output import warn

_EVERY_NODE = "every cycle considers every node"
_ENDPOINT = "an endpoint is enabled by its address"

#: By flag, why it has no effect.
IGNORED: dict[str, str] = {
    "--minimum-feasible-nodes": _EVERY_NODE,
    "--minimum-percentage-nodes-to-find": _EVERY_NODE,
    "--percentage-nodes-to-find": _EVERY_NODE,
    "--node-worker-threads": "nodes are not processed one by one",
    "--disable-default-scheduler-config": "an invalid file at the start always ends the process",
    "--resync-period": "watches are verified automatically",
    "--resource-sync-timeout": "the initial lists have no timeout",
    "--plugins-dir": "plugins come from installed packages or --plugin",
    "--csi-storage": "storage is counted if its CSIDriver declares it",
    "--ignored-provisioners": "volumes are counted only against the limits of a CSINode",
    "--priority-class": "priority classes are always read",
    "--enable-healthz": _ENDPOINT,
    "--enable-metrics": _ENDPOINT,
    "--enable-pprof": "there is no profiler",
    "--cache-dumper": "signals USR1 and USR2 always write a dump",
    "--gate-removal-worker-num": "scheduling gates are left to their owners",
    "--lock-object-namespace": "use --leader-elect-resource-namespace",
    "--feature-gates": "there are no feature gates",
    "--log-flush-frequency": "log lines are written at once",
    "-v": "use --log-level",
    "--ca-cert-file": "the endpoints require bearer tokens, not client certificates",
    "--leader-elect-resource-lock": "leases are the only lock",
}


def ignored_flags(command: Command) -> Command:
    """Accept the flags, hidden from the help."""
    for flag in IGNORED:
        option = click.option(flag, _variable(flag), default=None, hidden=True, is_flag=False, flag_value="true")
        command = option(command)
    return command


def warn_about_ignored(options: Mapping[str, Any]) -> None:
    set_flags = [flag for flag in IGNORED if options.get(_variable(flag)) is not None]
    warn(f"{flag} has no effect: {IGNORED[flag]}" for flag in set_flags)


def _variable(flag: str) -> str:
    return "ignored_" + flag.strip("-").replace("-", "_")
