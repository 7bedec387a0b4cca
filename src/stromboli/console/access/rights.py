"""What a person may read, by reviews of the API server.

One entry per person is kept for a short time: a right that is withdrawn ends with it, and so does one that was missing.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from stromboli.console.documents.sessions import ConsoleRights
from stromboli.kube.objects.catalogue import CONFIG_MAPS, NODES, POD_GROUPS, QUEUES
from stromboli.planner.live.installation import InstallationName
from stromboli.serving.access import AccessReviewer, ReviewClient
from stromboli.visibility.reviews import Person

_SECONDS_TO_KEEP = 15.0
_MAX_PEOPLE = 500
#: Namespaces that are reviewed for one person; the jobs of further ones are only counted.
_MAX_NAMESPACES = 2_000
#: Below the number of reviews at a time beyond which a reviewer rejects them.
_MAX_CONCURRENT = 12
#: Reviews of one person at a time: those of others take turns with a person of many namespaces.
_MAX_PER_PERSON = 4


@dataclass(slots=True)
class PersonRights:
    """The rights of one person, completed by namespace when they are asked for."""

    #: When they must be reviewed again; set when a review ends.
    until: float = inf
    general: ConsoleRights | None = None
    #: Whether jobs of a namespace may be read; unknown ones are absent.
    namespaces: dict[str, bool] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_PER_PERSON))

    def may_read(self, namespace: str) -> bool:
        """Report whether jobs of a namespace may be named."""
        return self.may_read_all or self.namespaces.get(namespace, False)

    @property
    def known(self) -> ConsoleRights:
        assert self.general is not None, "rights are reviewed before they are used"  # noqa: S101
        return self.general

    @property
    def may_read_all(self) -> bool:
        return self.general is not None and self.general.all_namespaces

    @property
    def readable(self) -> frozenset[str] | None:
        """The namespaces whose jobs may be read; None for all."""
        return None if self.may_read_all else frozenset(name for name, may in self.namespaces.items() if may)

    @property
    def key(self) -> Hashable:
        """Equal for people to whom all answers are the same."""
        known = self.known
        return self.readable, known.nodes, known.all_queues, known.policy


class RightsReviewer:
    """Reviews people. Raises AccessUnavailable if the API server does not answer."""

    def __init__(
        self, client: ReviewClient, installation: InstallationName, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reviewer, self._installation, self._clock = AccessReviewer(client), installation, clock
        self._concurrent = asyncio.Semaphore(_MAX_CONCURRENT)
        self._people: OrderedDict[Person, PersonRights] = OrderedDict()

    async def of(self, person: Person, namespaces: Collection[str]) -> PersonRights:
        """Return the rights of a person, with those in these namespaces."""
        rights = self._people.get(person)
        if rights is None or self._clock() >= rights.until:
            rights = self._people[person] = PersonRights()
            while len(self._people) > _MAX_PEOPLE:
                self._people.popitem(last=False)
        self._people.move_to_end(person)
        async with rights.lock:
            try:
                await self._complete(rights, person, namespaces)
            finally:
                rights.until = min(rights.until, self._clock() + _SECONDS_TO_KEEP)
        return rights

    async def may(self, person: Person, verb: str, group: str, resource: str, namespace: str, name: str) -> bool:
        """Report whether a person may do something with one object. The result is not kept."""
        return await self._review(person, verb=verb, group=group, resource=resource, namespace=namespace, name=name)

    async def _complete(self, rights: PersonRights, person: Person, namespaces: Collection[str]) -> None:
        if rights.general is None:
            rights.general = await self._general(person)
        if rights.may_read_all:
            return
        unknown = [each for each in namespaces if each not in rights.namespaces]
        unknown = unknown[: max(_MAX_NAMESPACES - len(rights.namespaces), 0)]

        async def review(namespace: str) -> None:
            """Keep the result at once: a request that is cancelled has not asked in vain."""
            async with rights.turns:
                rights.namespaces[namespace] = await self._may_list_jobs(person, namespace)

        try:
            async with asyncio.TaskGroup() as group:
                for namespace in unknown:
                    group.create_task(review(namespace))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _general(self, person: Person) -> ConsoleRights:
        installed = self._installation
        all_namespaces, nodes, queues, policy = await asyncio.gather(
            self._may_list_jobs(person, ""),
            self._review(person, verb="list", group=NODES.group, resource=NODES.plural),
            self._review(person, verb="list", group=QUEUES.group, resource=QUEUES.plural),
            self._review(
                person, verb="get", group=CONFIG_MAPS.group, resource=CONFIG_MAPS.plural,
                namespace=installed.namespace, name=installed.config_map,
            ),
        )  # fmt: skip
        return ConsoleRights(all_namespaces=all_namespaces, nodes=nodes, all_queues=queues, policy=policy)

    async def _may_list_jobs(self, person: Person, namespace: str) -> bool:
        return await self._review(
            person, verb="list", group=POD_GROUPS.group, resource=POD_GROUPS.plural, namespace=namespace
        )

    async def _review(self, person: Person, **attributes: str) -> bool:
        present: dict[str, Any] = {key: value for key, value in attributes.items() if value}
        async with self._concurrent:
            return await self._reviewer.authorize({**person.as_spec(), "resourceAttributes": present})
