"""Options of leader election."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import DURATION, Command, option_group, setting, switch

if TYPE_CHECKING:
    from stromboli.kube.election.leadership import Election


def election_options(lease: str) -> Callable[[Command], Command]:
    """Define the options of leader election, with a default name of the lease."""
    return option_group(
        switch("--leader-elect", default=True, help="Work only while holding the lease."),
        setting("--leader-elect-resource-name", default=lease, metavar="NAME", help="The name of the lease."),
        setting(
            "--leader-elect-resource-namespace",
            default="",
            metavar="NAME",
            help="Its namespace; default: that of the process.",
        ),
        setting("--leader-elect-lease-duration", type=DURATION, default="15s", help="The duration of the lease."),
        setting(
            "--leader-elect-renew-deadline", type=DURATION, default="10s", help="How long a leader retries a renewal."
        ),
        setting("--leader-elect-retry-period", type=DURATION, default="2s", help="The interval between attempts."),
    )


def election_of(options: Mapping[str, Any], namespace: str) -> Election | None:
    """Return the election of these options, or None if it is disabled. `namespace` is the default."""
    from stromboli.kube.election.elector import JITTER
    from stromboli.kube.election.leadership import Election

    if not options["leader_elect"]:
        return None
    times = [options[f"leader_elect_{name}"] for name in ("lease_duration", "renew_deadline", "retry_period")]
    if not times[0] > times[1] > times[2] * JITTER > 0:
        raise click.UsageError(
            "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, and that longer than "
            "--leader-elect-retry-period by a fifth or more."
        )
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    where = options["leader_elect_resource_namespace"] or namespace
    return Election(options["leader_elect_resource_name"], where, identity, *times)
