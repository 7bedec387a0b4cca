"""The cache of the console: the objects that decisions depend on, kept by watches as a scheduler keeps them.

The console has a cache of its own, so that its frames and questions never touch the cache of a scheduler.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump
from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED, is_relevant
from stromboli.cluster.state.cluster import SCHEDULER_NAMES, Cluster
from stromboli.console.cache.shared_parts import SharingIngest
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.session.program import Program
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.reflector import Reflector
from stromboli.planner.live.installation import InstallationName, RunningScheduler, find_scheduler
from stromboli.workloads.queues import DEFAULT_QUEUE

#: Seconds between two reads of the policy of the scheduler.
_POLICY_SECONDS = 15.0

_log = logging.getLogger("stromboli.console")

ProgramFactory = Callable[[str, str], Program]
"""Returns the program of a policy, by its text and source. Raises ValueError."""


class ConsoleCache:
    """`begin` reads the scheduler and builds the cache; `run` keeps it current. `policy` replaces that of the
    scheduler.
    """

    def __init__(
        self,
        client: Client,
        program_of: ProgramFactory,
        installation: InstallationName,
        *,
        policy: str | None = None,
    ) -> None:
        self.client = client
        self._program_of, self._installation, self._policy = program_of, installation, policy
        #: The text of the policy that frames are made with, and where it is.
        self.policy_text, self.policy_source = policy or DEFAULT_TEXT, "--conf" if policy else "the default policy"
        self.policy_problem = ""
        #: Set by each change that a page may show, and cleared by its reader.
        self.changed = asyncio.Event()
        self._reflectors: list[Reflector[Any]] = []

    async def begin(self) -> None:
        """Read the options and the policy of the scheduler. Raises RequestFailed."""
        found = await find_scheduler(self.client, self._installation)
        self._take_policy(found)
        self.program = self._first_program()
        names = tuple(found.options.get("--scheduler-name", ())) or SCHEDULER_NAMES
        self.cluster = Cluster(
            names, self.program.class_labels, self.program.class_annotations,
            seed=int(found.option("--seed") or 0), default_queue=found.option("--default-queue") or DEFAULT_QUEUE,
        )  # fmt: skip
        self.ingest = SharingIngest(self.cluster, self._object_changed)
        self._reflectors = [
            *(Reflector(self.client, resource, self.ingest) for resource in WATCHED_REQUIRED),
            *(Reflector(self.client, resource, self.ingest, optional=True) for resource in WATCHED_OPTIONAL),
            *map(self._config_map, sorted(self.program.config_maps)),
        ]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())
            if self._policy is None:
                group.create_task(self._follow_policy())

    async def wait_until_synced(self) -> None:
        await asyncio.gather(*(reflector.synced.wait() for reflector in self._reflectors))

    @property
    def problems(self) -> Sequence[str]:
        """Why objects are not up to date, by kind."""
        return [f"{each.resource.name}: {each.problem}" for each in self._reflectors if each.problem]

    def dump(self) -> Dump:
        """Return the contents for another process."""
        options = {"defaultQueue": self.cluster.default_queue}
        return Dump(contents_of(self.cluster), time.time(), self.policy_text, options)

    def _config_map(self, key: str) -> Reflector[Any]:
        namespace, _, name = key.partition("/")
        chosen = f"metadata.name={name}"
        return Reflector(
            self.client, CONFIG_MAPS, self.ingest, namespace=namespace, field_selector=chosen, optional=True
        )

    def _object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """Heartbeats of nodes, and conditions of pods, change no page."""
        if not isinstance(entry, KubeNode | Pod) or is_relevant(entry, before):
            self.changed.set()

    # -- policy -------------------------------------------------------------------------------------------------

    def _first_program(self) -> Program:
        try:
            return self._program_of(self.policy_text, self.policy_source)
        except ValueError as error:
            self._reject(str(error))
            return self._program_of(DEFAULT_TEXT, "the default policy")

    async def _follow_policy(self) -> None:
        while True:
            await asyncio.sleep(_POLICY_SECONDS)
            try:
                found = await find_scheduler(self.client, self._installation)
            except RequestFailed as error:
                _log.warning("policy not read", extra={"error": str(error)})
                continue
            if self._take_policy(found):
                self._use_policy()

    def _take_policy(self, found: RunningScheduler) -> bool:
        """Keep the policy of the scheduler; report whether it has changed."""
        if self._policy is not None:
            return False
        self.policy_problem = found.problem
        if found.policy is None or found.policy == self.policy_text:
            return False
        self.policy_text, self.policy_source = found.policy, found.source
        return True

    def _use_policy(self) -> None:
        try:
            self.program = self._program_of(self.policy_text, self.policy_source)
        except ValueError as error:
            self._reject(str(error))
            return
        self.cluster.use_class_keys(self.program.class_labels, self.program.class_annotations)
        self.changed.set()

    def _reject(self, problem: str) -> None:
        self.policy_problem = problem
        _log.error("policy rejected; the last valid one stays active", extra={"error": problem})
