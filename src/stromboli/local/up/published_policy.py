"""The policy of the scheduler in the API server, where commands look for that of an installation.

It is the ConfigMap of an installation. There is no Deployment: its pods would be started. The options that decisions
depend on are therefore in the ConfigMap as well.
"""

from __future__ import annotations

import asyncio
import logging

from stromboli.core.config.config_map import ARGUMENTS_KEY
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.install.documents import installation_documents
from stromboli.install.installation import Installation
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy

_log = logging.getLogger(__name__)

#: Seconds between two comparisons with the active policy. The scheduler checks the file as often.
PERIOD = 1.0


class PolicyPublisher:
    """Keeps the ConfigMap equal to the active policy; an invalid file does not change it."""

    def __init__(self, client: Client, policy: ActivePolicy, options: SchedulerOptions) -> None:
        self._applier = Applier(client)
        self._policy = policy
        self._arguments = _arguments(options)
        self._published: str | None = None

    async def publish(self) -> None:
        """Write the policy if it has changed. Raises RequestFailed."""
        text = self._policy.text or DEFAULT_TEXT
        if text == self._published:
            return
        namespace, config_map = installation_documents(Installation(configuration=text), ("namespace", "configuration"))
        config_map["data"][ARGUMENTS_KEY] = self._arguments
        await self._applier.apply([namespace, config_map])
        self._published = text

    async def run(self) -> None:
        """Publish changes until cancelled. A failure is repeated: the namespace may be about to be deleted."""
        while True:
            await asyncio.sleep(PERIOD)
            try:
                await self.publish()
            except RequestFailed as error:
                _log.warning("policy not published; retrying", extra={"problem": str(error)})


def _arguments(options: SchedulerOptions) -> str:
    """Return the options as on the command line of the scheduler, one on a line."""
    names = [f"--scheduler-name={name}" for name in options.scheduler_names]
    return "\n".join([*names, f"--default-queue={options.default_queue}", f"--seed={options.seed}", ""])
