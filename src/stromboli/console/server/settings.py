"""Settings of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stromboli.console.access.callers import TrustedProxies
from stromboli.console.cache.cache import ProgramFactory
from stromboli.kube.client.config.connection import Connection
from stromboli.planner.cycle_records import CycleRecords
from stromboli.planner.live.installation import InstallationName
from stromboli.serving.tls import TlsSettings

STATIC = Path(__file__).parents[1] / "static"
"""The built pages."""


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`connect` is called once per user of a connection."""

    connect: Callable[[], Connection]
    program_of: ProgramFactory
    address: str
    tls: TlsSettings = field(default_factory=TlsSettings)
    installation: InstallationName = field(default_factory=InstallationName)
    #: The text of the policy that is shown, instead of that of the scheduler.
    policy: str | None = None
    #: Plugins that the policy may name, for the process that answers.
    plugins: Sequence[str] = ()
    #: The address of the history; empty for none.
    history: str = ""
    owner_label: str = "stromboli.dev/user"
    #: Further names under which the console may be asked.
    hosts: Sequence[str] = ()
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    #: Decisions of a scheduler in the same process; None for those that the scheduler of the cluster serves.
    cycles: CycleRecords | None = None
    #: Called before the first frame, and after each.
    release_memory: Callable[[], None] = lambda: None
    #: Tokens by the code of a printed link.
    codes: Mapping[str, str] = field(default_factory=dict, repr=False)
