"""Volcano's Commands: requests to open or close a queue, or to abort, resume, restart or terminate a Job, once.

A Command is deleted when it is executed. The controller of the target executes it within its own work on the target, so
that both never run at a time:

* An effect that can be repeated, such as a state, is written first, and the Command is deleted afterwards. After a
  crash in between it is executed again.
* For an effect that must not be repeated, the Command is deleted first; `consume` returns False if another process was
  faster. After a crash in between the effect is lost, unless it was recorded on the target before.

The Commands for a target are executed in the order of their creation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import VOLCANO_COMMANDS
from stromboli.kube.objects.meta import OwnerReference, TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano_jobs import VolcanoCommand
from stromboli.kube.watch.informer import Informer

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

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
        #: By key of the target, then by uid.
        self._waiting: dict[str, dict[str, VolcanoCommand]] = {}
        #: Uids of deleted Commands that the watch may still report.
        self._consumed: set[str] = set()
        #: The number of Commands that were deleted.
        self.consumed = 0
        commands.listen(self._changed)

    async def take(self, key: str, present: TopLevel | None) -> list[VolcanoCommand]:
        """Return the Commands for this object, the oldest first, and delete those for a former one of its name."""
        waiting = sorted(self._waiting.get(key, {}).values(), key=_age)
        uid = present.metadata.uid if present else ""
        former = [command for command in waiting if _target_of(command).uid != uid]
        if former:
            uids = {uid, await self._live_uid(key)}
            for command in former:
                if _target_of(command).uid not in uids:
                    await self.consume(command)
        return [command for command in waiting if _target_of(command).uid == uid]

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
            if old is not None and old.metadata.uid != new.metadata.uid:
                self._drop(old)
            key = self._key_of(new)
            self._waiting.setdefault(key, {})[new.metadata.uid] = new
            self._arrived(key)

    def _forget(self, command: VolcanoCommand) -> None:
        """Do not return a Command again, also if the watch has not reported its deletion yet."""
        if command.metadata.uid in self._waiting.get(self._key_of(command), {}):
            self._consumed.add(command.metadata.uid)
            self._drop(command)

    def _drop(self, command: VolcanoCommand) -> None:
        key = self._key_of(command)
        commands = self._waiting.get(key, {})
        commands.pop(command.metadata.uid, None)
        if not commands:
            self._waiting.pop(key, None)

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
