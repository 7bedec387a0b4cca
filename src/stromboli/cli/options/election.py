"""Options of commands of which only one process at a time may do the work."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stromboli.cli.options.durations import DURATION
from stromboli.cli.options.settings import setting, switch

if TYPE_CHECKING:
    from stromboli.kube.election.leadership import Election

Command = TypeVar("Command", bound=Callable[..., Any])


def election_options(lease: str) -> Callable[[Command], Command]:
    """The options of an election for the lease of this name, unless told otherwise."""
    options = (
        switch("--leader-elect", default=True, help="Do the work only while holding a lease."),
        setting("--leader-elect-resource-name", default=lease, metavar="NAME", help="The name of the lease."),
        setting("--leader-elect-resource-namespace", default="", metavar="NAME", help="Its namespace; else our own."),
        setting("--leader-elect-lease-duration", type=DURATION, default="15s", help="How long a lease holds."),
        setting("--leader-elect-renew-deadline", type=DURATION, default="10s", help="When a leader gives up."),
        setting("--leader-elect-retry-period", type=DURATION, default="2s", help="The pause between attempts."),
    )

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def election_of(given: Mapping[str, Any], namespace: str) -> Election | None:
    """The election that the options describe; None where there is none. `namespace` is our own."""
    from stromboli.kube.election.elector import JITTER
    from stromboli.kube.election.leadership import Election

    if not given["leader_elect"]:
        return None
    times = [given[f"leader_elect_{name}"] for name in ("lease_duration", "renew_deadline", "retry_period")]
    if not times[0] > times[1] > times[2] * JITTER > 0:
        raise click.UsageError(
            "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, and that longer than "
            "--leader-elect-retry-period by a fifth or more."
        )
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    where = given["leader_elect_resource_namespace"] or namespace
    return Election(given["leader_elect_resource_name"], where, identity, *times)
