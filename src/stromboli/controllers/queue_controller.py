"""Writes the status of queues: the state, and the number of groups per phase; executes Commands that open or close.

Administrators open and close queues by the state, and a queue may be recreated under its name, so the status is written
for the version that was read; the scheduler's field `allocated` is not changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.cluster.standard_queues import create_queue, standard_queues
from stromboli.controllers.commands import CommandInbox
from stromboli.controllers.field_release import release_status_fields
from stromboli.controllers.queue_state import (
    CLOSED_BY_PARENT,
    CommandRejected,
    QueueState,
    after_command,
    counts_of,
    next_state,
    parent_of,
    phase_of,
    state_of,
)
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects import native
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.event import reference_to
from stromboli.kube.objects.volcano import KubeQueue, PodGroup
from stromboli.kube.objects.volcano_jobs import VolcanoCommand
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.workloads.queues import queue_name_of

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

COUNT_DEBOUNCE_SECONDS = 0.1
"""Changes of groups within this many seconds are counted together."""


class QueueController:
    def __init__(
        self,
        client: Client,
        queues: Informer[KubeQueue],
        groups: Informer[PodGroup],
        commands: Informer[VolcanoCommand],
        recorder: EventRecorder,
        default_queue: str,
        native_groups: Sequence[Informer[native.NativePodGroup]] = (),
    ) -> None:
        self._client, self._recorder = client, recorder
        self._queues, self._groups, self._native_groups = queues, groups, native_groups
        #: By key, the queue and phase of native groups: a server may report one in several versions.
        self._native_places: dict[str, tuple[str, str]] = {}
        self._default_queue = default_queue
        self._standard = {queue.metadata.name: queue for queue in standard_queues(default_queue)}
        self._phases: dict[str, Counter[str]] = {}
        #: Queues whose state was written and is still owned.
        self._owned_states: set[str] = set()
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="queues", workers=4, group=self._turn_of)
        self._inbox = CommandInbox(client, commands, QUEUES, self.work.add)
        #: Numbers of writes.
        self.queues_created = 0
        self.status_writes = 0
        queues.listen(self._queue_changed)
        groups.listen(self._group_changed)
        for informer in native_groups:
            informer.listen(self._native_group_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._queues.synced.wait()
        await self._groups.synced.wait()
        for informer in self._native_groups:
            await informer.synced.wait()
        for name in self._standard:
            self.work.add(name)
        await self.work.run()

    def _queue_changed(self, old: KubeQueue | None, new: KubeQueue | None) -> None:
        queue = new or old
        if queue is None:
            return
        name = queue.metadata.name
        if old is not None and new is not None and state_of(old) == state_of(new):
            self.work.add_after(name, COUNT_DEBOUNCE_SECONDS)
            return
        self.work.add(name)
        for other in self._queues.objects.values():
            if parent_of(other) == name:
                self.work.add(other.metadata.name)

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        self._move(self._queue_and_phase(old), self._queue_and_phase(new))

    def _native_group_changed(self, old: native.NativePodGroup | None, new: native.NativePodGroup | None) -> None:
        key = (new or old or native.NativePodGroup()).key
        before, after = self._native_places.pop(key, None), self._queue_and_phase(as_group(new) if new else None)
        if after is not None:
            self._native_places[key] = after
        self._move(before, after)

    def _move(self, before: tuple[str, str] | None, after: tuple[str, str] | None) -> None:
        if before == after:
            return
        if before is not None:
            self._count(*before, -1)
        if after is not None:
            self._count(*after, +1)

    def _queue_and_phase(self, group: PodGroup | None) -> tuple[str, str] | None:
        return None if group is None else (queue_name_of(group, self._default_queue), phase_of(group))

    def _count(self, queue: str, phase: str, change: int) -> None:
        phases = self._phases.setdefault(queue, Counter())
        phases[phase] += change
        if not phases[phase]:
            del phases[phase]
        self.work.add_after(queue, COUNT_DEBOUNCE_SECONDS)

    def _turn_of(self, name: str) -> str:
        """Let existing queues take turns with the namespaces that send Commands for queues that do not exist."""
        return "" if name in self._queues.objects else self._inbox.sender_of(name)

    async def _reconcile(self, name: str) -> None:
        queue = self._queues.objects.get(name)
        commands = await self._inbox.take(name, queue)
        if queue is not None:
            await self._update(queue, commands)
        elif name in self._standard:
            self.queues_created += await create_queue(self._client, self._standard[name])

    async def _update(self, queue: KubeQueue, commands: Sequence[VolcanoCommand]) -> None:
        """Reconcile a queue. An interruption is harmless: the mark is set before closing and removed after opening, and
        a Command is deleted when its effect is written.
        """
        phases = self._phases.get(queue.metadata.name, Counter())
        now, parent = state_of(queue), self._parent_state(queue)
        asked = now
        for command in commands:
            asked = self._after(queue, asked, command, parent)
        desired = next_state(asked, parent, is_empty=not phases.total())
        if desired.with_parent and not now.with_parent:
            queue = await self._mark(queue, "true")
        if changes := _changes(queue, desired.state, counts_of(phases)):
            queue = await self._write_status(queue, changes)
        if now.with_parent and not desired.with_parent:
            await self._mark(queue, None)
        if queue.metadata.name in self._owned_states:
            await release_status_fields(self._client, QUEUES, queue.metadata.name, ("state",))
            self._owned_states.discard(queue.metadata.name)
        for command in commands:
            await self._inbox.consume(command)

    def _after(
        self, queue: KubeQueue, asked: QueueState, command: VolcanoCommand, parent: QueueState | None
    ) -> QueueState:
        """Return the state after a Command, and report it; one that is rejected changes nothing."""
        action = command.action or ""
        try:
            after, outcome = after_command(asked, action, parent), ""
        except CommandRejected as error:
            after, outcome = asked, f"rejected: {error}"
        if after != asked or outcome:
            note = outcome or f"the queue {'closes' if after.is_closed else 'opens'}"
            kind = "Warning" if outcome else "Normal"
            self._recorder.record(reference_to(QUEUES, queue), type=kind, reason=action or "Command", note=note)
        return after

    def _parent_state(self, queue: KubeQueue) -> QueueState | None:
        parent = self._queues.objects.get(parent_of(queue) or "")
        return None if parent is None else state_of(parent)

    async def _mark(self, queue: KubeQueue, value: str | None) -> KubeQueue:
        metadata = _this_version(queue) | {"annotations": {CLOSED_BY_PARENT: value}}
        return await self._client.patch(QUEUES, queue.metadata.name, {"metadata": metadata})

    async def _write_status(self, queue: KubeQueue, changes: dict[str, Any]) -> KubeQueue:
        body = {"metadata": _this_version(queue), "status": changes}
        answer = await self._client.patch(QUEUES, queue.metadata.name, body, subresource="status")
        self.status_writes += 1
        if "state" in changes:
            self._owned_states.add(queue.metadata.name)
        return answer


def _this_version(queue: KubeQueue) -> dict[str, Any]:
    return {"resourceVersion": queue.metadata.resource_version}


def _changes(queue: KubeQueue, state: str, counts: dict[str, int]) -> dict[str, Any]:
    """Return the status fields to change; Volcano's CRD requires `allocated`."""
    status = queue.status
    changes: dict[str, Any] = {phase: count for phase, count in counts.items() if getattr(status, phase) != count}
    if status.state != state:
        changes["state"] = state
    if changes and status.allocated is None:
        changes["allocated"] = {}
    return changes
