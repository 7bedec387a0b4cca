"""Volcano's Commands: requests to open or close a queue, or to abort, resume, restart or terminate a Job, once.

A Command is deleted when it is executed. The controller of the target executes it within its own work on the target, so
that both never run at a time:

* An effect that can be repeated, such as a state, is written first, and the Command is deleted afterwards. After a
  crash in between it is executed again.
* For an effect that must not be repeated, the Command is deleted first; `consume` returns False if another process was
  faster. After a crash in between the effect is lost, unless it was recorded on the target before.

The Commands for a target are executed in the order of their creation. A run on a target executes a limited number of
them, so that many Commands for one target delay no other for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import VOLCANO_COMMANDS
from stromboli.kube.objects.meta import OwnerReference, TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano_jobs import VolcanoCommand
from stromboli.kube.watch.informer import Informer

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

MAX_COMMANDS_PER_RUN = 16
OPEN_QUEUE, CLOSE_QUEUE = "OpenQueue", "CloseQueue"


class CommandInbox:
    """The Commands for targets of one resource; `arrived` is called with the key of the target of a new one."""

    def __init__(
        self,
        client: Client,
        commands: Informer[VolcanoCommand],
        target: Resource[Any],
        arrived: Callable[[str], None],
    ) -> None:
        self._client, self._target, self._arrived = client, target, arrived
        #: By key of the target, by uid of the target, then by uid.
        self._waiting: dict[str, dict[str | None, dict[str, VolcanoCommand]]] = {}
        #: The keys and uids of targets whose Commands are not in the order of their creation.
        self._unsorted: set[tuple[str, str | None]] = set()
        #: The keys of which the last run took a part of the Commands.
        self._partial: set[str] = set()
        #: Uids of deleted Commands that the watch may still report.
        self._consumed: set[str] = set()
        #: The number of Commands that were deleted.
        self.consumed = 0
        commands.listen(self._changed)

    async def take(self, key: str, present: TopLevel | None) -> list[VolcanoCommand]:
        """Return Commands for this object, the oldest first, and delete some for a former one of its name.

        If more Commands wait than one run takes, `arrived` is called again when one of them was consumed.
        """
        self._partial.discard(key)
        uid = present.metadata.uid if present else ""
        if any(target != uid for target in islice(self._waiting.get(key, ()), 2)):
            present_uids = {uid, await self._live_uid(key)}
            targets = self._waiting.get(key, {}).items()
            former = (each for target, commands in targets if target not in present_uids for each in commands.values())
            for command in self._part(key, former):
                await self.consume(command)
        return self._part(key, self._sorted(key, uid).values())

    def _part(self, key: str, commands: Iterable[VolcanoCommand]) -> list[VolcanoCommand]:
        taken = list(islice(commands, MAX_COMMANDS_PER_RUN + 1))
        if len(taken) > MAX_COMMANDS_PER_RUN:
            self._partial.add(key)
        return taken[:MAX_COMMANDS_PER_RUN]

    def _sorted(self, key: str, target: str) -> dict[str, VolcanoCommand]:
        commands = self._waiting.get(key, {}).get(target, {})
        if (key, target) in self._unsorted:
            self._unsorted.discard((key, target))
            commands = {each.metadata.uid: each for each in sorted(commands.values(), key=_age)}
            self._waiting[key][target] = commands
        return commands

    def sender_of(self, key: str) -> str:
        """Return the namespace of a Command for a target; empty if none waits."""
        for commands in reversed(self._waiting.get(key, {}).values()):
            return next(reversed(commands.values())).metadata.namespace
        return ""

    async def consume(self, command: VolcanoCommand) -> bool:
        """Delete a Command; report whether this call deleted it."""
        name, namespace, uid = command.metadata.name, command.metadata.namespace, command.metadata.uid
        try:
            await self._client.delete(VOLCANO_COMMANDS, name, namespace=namespace, uid=uid, propagation="Background")
        except ApiError as error:
            if not error.is_missing:
                raise
            self._forget(command)
            return False
        self._forget(command)
        self.consumed += 1
        return True

    def _changed(self, old: VolcanoCommand | None, new: VolcanoCommand | None) -> None:
        command = new or old
        if command is None or not self._is_for_target(command):
            return
        if new is None:
            self._drop(command)
            self._consumed.discard(command.metadata.uid)
        elif new.metadata.uid not in self._consumed and new.metadata.deletion_timestamp is None:
            if old is not None:
                self._drop(old)
            key, target = self._key_of(new), _target_of(new).uid
            commands = self._waiting.setdefault(key, {}).setdefault(target, {})
            if commands and _age(next(reversed(commands.values()))) > _age(new):
                self._unsorted.add((key, target))
            commands[new.metadata.uid] = new
            self._arrived(key)

    def _forget(self, command: VolcanoCommand) -> None:
        """Do not return a Command again, also if the watch has not reported its deletion yet."""
        key = self._key_of(command)
        if command.metadata.uid in self._waiting.get(key, {}).get(_target_of(command).uid, {}):
            self._consumed.add(command.metadata.uid)
            self._drop(command)
        if key in self._partial:
            self._partial.discard(key)
            self._arrived(key)

    def _drop(self, command: VolcanoCommand) -> None:
        key, target = self._key_of(command), _target_of(command).uid
        targets = self._waiting.get(key, {})
        commands = targets.get(target, {})
        commands.pop(command.metadata.uid, None)
        if not commands:
            targets.pop(target, None)
            self._unsorted.discard((key, target))
        if not targets:
            self._waiting.pop(key, None)
            self._partial.discard(key)

    def _is_for_target(self, command: VolcanoCommand) -> bool:
        target = _target_of(command)
        group = (target.api_version or "").rpartition("/")[0]
        return bool(target.name) and (group, target.kind) == (self._target.group, self._target.kind)

    def _key_of(self, command: VolcanoCommand) -> str:
        name = _target_of(command).name or ""
        return f"{command.metadata.namespace}/{name}" if self._target.namespaced else name

    async def _live_uid(self, key: str) -> str:
        """Return the uid of the target on the server; the watch of the target may be behind that of the Commands."""
        namespace, _, name = key.rpartition("/")
        try:
            return (await self._client.get(self._target, name, namespace=namespace)).metadata.uid
        except ApiError as error:
            if error.is_missing:
                return ""
            raise


def _target_of(command: VolcanoCommand) -> OwnerReference:
    return command.target or OwnerReference()


def _age(command: VolcanoCommand) -> tuple[str, int, str]:
    """Order Commands by creation; those of one second by the version of their creation."""
    metadata = command.metadata
    version = metadata.resource_version or ""
    return metadata.creation_timestamp or "", int(version) if version.isdecimal() else 0, command.key
