"""The extension point of binding: what a binder plugin may implement, and the context that it works with.

A plugin prepares what pods need on their nodes. `validate` and `mutate` run when a pod is admitted, in the webhook,
with nothing but the manifest. The other methods run in the process that binds pods: the binder, or a scheduler that
binds directly. Plugins run one after the other in their order, for every member of a gang:

* `pre_bind` before the pod is bound. All members of a gang complete it before the first one is bound. It may wait for
  minutes without blocking other gangs.
* `post_bind` after the pod was bound.
* `rollback` when the pod will not be bound, or was bound and is evicted again; in reverse order.

The process may die between any two writes, and another one starts again at `pre_bind` or `rollback` with what it finds
in the cluster. So each of the three may be called again, or without the others before it: derive everything from
objects, never from memory alone.

`serve` runs beside the binds for as long as the process leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.client import Client
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource

T = TypeVar("T", bound=TopLevel)

__all__ = ["BinderContext", "BinderPlugin", "ClusterView", "PermanentFailure", "Placement", "StepFailed"]


class PermanentFailure(StepFailed):
    """The pod can never be bound to this node; the message is the reason that people read.

    Any other StepFailed, and every failed request, fails the attempt: it is reported and retried.
    """


class ClusterView(Protocol):
    """The cluster as the watches report it. Pass answers to your own writes to `apply`, so that reads see them."""

    def get(self, kind: type, key: str) -> TopLevel | None:
        """Return an object as last reported; the key is `namespace/name`, or the name alone."""

    def of_kind(self, kind: type[T]) -> Iterable[T]:
        """Return all objects of a kind, unordered. Pods, nodes and bind requests are always available."""

    def apply(self, entry: TopLevel) -> None:
        """Store an object as the API server returned it."""


@dataclass(frozen=True, slots=True)
class BinderContext:
    """The context of a plugin in a process that binds pods."""

    client: Client
    view: ClusterView
    #: Return what has made a bind impossible since it was decided; empty if nothing. Long waits should poll it.
    precondition_error: Callable[[Placement], str] = lambda placement: ""
    #: Reconcile the bind requests that name the pod with this uid.
    reconcile: Callable[[str], None] = lambda uid: None
    #: Record an event on an object, with its type (Normal, Warning), reason and note.
    record_event: Callable[[TopLevel, str, str, str], None] = lambda regarding, kind, reason, note: None
    is_leader: Callable[[], bool] = lambda: True

    def pod(self, placement: Placement) -> Pod | None:
        """Return the pod as last reported; None when it is gone."""
        found = self.view.get(Pod, placement.key)
        return found if isinstance(found, Pod) and found.metadata.uid == placement.uid else None

    def node(self, placement: Placement) -> KubeNode | None:
        """Return the node as last reported; None when it is gone."""
        found = self.view.get(KubeNode, placement.node)
        return found if isinstance(found, KubeNode) else None


class BinderPlugin:
    """Base class of binder plugins: set `name` and override what the plugin needs. One instance serves a process."""

    name: ClassVar[str] = ""
    #: Kinds to watch for the plugin, besides pods, nodes and bind requests.
    watches: ClassVar[tuple[Resource[Any], ...]] = ()
    #: Options with their default values (`--plugin-option NAME.OPTION=VALUE`).
    defaults: ClassVar[Mapping[str, str]] = {}

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        """Read the options. Raises ValueError with a message for an invalid one."""
        self.options = {**self.defaults, **(options or {})}

    # -- at admission -------------------------------------------------------------------------------------------

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        """Return the errors of a pod manifest that is being admitted, each with its field."""
        return []

    def mutate(self, pod: dict[str, Any]) -> None:
        """Change the manifest of a pod that is being admitted, in place."""

    # -- when pods are bound ------------------------------------------------------------------------------------

    def open(self, context: BinderContext) -> None:
        """Run once before the process binds pods; the initial lists may be incomplete."""
        self.context = context

    def applies_to(self, placement: Placement) -> bool:
        """Report whether the plugin has anything to do for a pod; if not, the methods below skip it."""
        return True

    async def pre_bind(self, placement: Placement) -> None:
        """Prepare what the pod needs. Raises StepFailed or PermanentFailure."""

    async def post_bind(self, placement: Placement) -> None:
        """Run after the pod was bound. Exceptions are logged and change nothing."""

    async def rollback(self, placement: Placement) -> None:
        """Undo `pre_bind` as far as it was done. Exceptions are reported, and the rollback is retried."""

    def prepared_for(self, pod: Pod) -> bool:
        """Report whether watched objects show a preparation for a pod without a node.

        The binder rolls it back when no bind request names the pod: the request was deleted while no binder ran.
        """
        return False

    def forget(self, placement: Placement) -> None:
        """Drop what is kept in memory for a bind whose outcome is unknown, or that a stopping process leaves over."""

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """Receive a watch event; for a deleted object, `before` is the object itself."""

    async def serve(self) -> None:
        """Work beside the binds until cancelled; starts when the initial lists are complete and the process leads."""
