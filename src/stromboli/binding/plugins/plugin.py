"""What a plugin of the binder may do: five questions, all optional, and what it is given to answer them.

A plugin makes ready what pods need on their nodes. `validate` and `mutate` are asked when a pod is admitted, by the
webhook, with nothing but the manifest at hand. The others are asked by the binder, for every member of a bind request,
plugin after plugin in their order:

* `pre_bind` before the pod is bound. All members of a gang have it behind them before the first is bound. It may wait
  for minutes: nobody else is kept waiting meanwhile.
* `post_bind` after the pod was bound.
* `rollback` when the pod will not be bound, or was bound and is taken back; in reverse order.

The process may die between any two writes, and another one begins again at `pre_bind` or `rollback` with what it finds
in the cluster. So each of the three may be called again, or without the others before it: what is to be done follows
from the objects, never from memory alone.

`serve` runs beside the binds for as long as the process is in charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from stromboli.binding.steps.step import StepFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest, BoundPod
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource

T = TypeVar("T", bound=TopLevel)

__all__ = ["Bind", "BinderContext", "BinderPlugin", "PermanentFailure", "Sight", "StepFailed"]


class PermanentFailure(StepFailed):
    """The pod can never be bound to this node, however often it is tried; the message says why, for a person.

    Any other StepFailed, and every request that fails, is an attempt that failed: it is told and tried again.
    """


@dataclass(frozen=True, slots=True)
class Bind:
    """One pod on its way to its node. Of a pod or node that is gone, only the name (and uid) is known here."""

    request: BindRequest
    member: BoundPod
    pod: Pod
    node: KubeNode
    #: What travels with the binding and then stands on the pod. `pre_bind` may add to both.
    annotations: MutableMapping[str, str] = field(default_factory=dict)
    labels: MutableMapping[str, str] = field(default_factory=dict)


class Sight(Protocol):
    """The cluster as the watches report it. What is written here is seen at once when it is handed to `apply`."""

    def get(self, kind: type, key: str) -> TopLevel | None:
        """An object as it was last reported; the key is `namespace/name`, or the name alone."""

    def of_kind(self, kind: type[T]) -> Iterable[T]:
        """All objects of a kind, in no order. Pods, nodes and bind requests are always there."""

    def apply(self, entry: TopLevel) -> None:
        """An object as the server answered it."""


@dataclass(frozen=True, slots=True)
class BinderContext:
    """What a plugin of a running binder works with."""

    client: Client
    sight: Sight
    #: What has come in the way of a bind since it was decided, in words; empty if nothing. Who waits should ask.
    obstacle: Callable[[Bind], str] = lambda bind: ""
    #: Look again at the bind requests that name a pod by this uid.
    look_again: Callable[[str], None] = lambda uid: None
    #: Tell people: an event on an object, with its type (Normal, Warning), reason and note.
    tell: Callable[[TopLevel, str, str, str], None] = lambda regarding, kind, reason, note: None


class BinderPlugin:
    """Derive from it, name it, and override what you answer. One instance serves the whole process."""

    name: ClassVar[str] = ""
    #: Kinds that the binder shall watch for the plugin, besides pods, nodes and bind requests.
    watches: ClassVar[tuple[Resource[Any], ...]] = ()
    #: Options by name, with what holds when they are not given (`--plugin-option NAME.OPTION=VALUE`).
    defaults: ClassVar[Mapping[str, str]] = {}

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        """Read the options. Raises ValueError with a sentence when one cannot be used."""
        self.options = {**self.defaults, **(options or {})}

    # -- at admission -------------------------------------------------------------------------------------------

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        """What is wrong with a pod that is to be admitted, in words, each with the field; its manifest is given."""
        return []

    def mutate(self, pod: dict[str, Any]) -> None:
        """Add to the manifest of a pod that is to be admitted what it will need; it is changed in place."""

    # -- in the binder ------------------------------------------------------------------------------------------

    def open(self, surroundings: BinderContext) -> None:
        """The binder is about to work; the watches may not have reported everything yet."""
        self.surroundings = surroundings

    def applies_to(self, bind: Bind) -> bool:
        """Whether there is anything to be done for a pod; if not, the three below are not called for it."""
        return True

    async def pre_bind(self, bind: Bind) -> None:
        """Make ready what the pod needs. Raises StepFailed, or Impossible."""

    async def post_bind(self, bind: Bind) -> None:
        """The pod is bound. What is raised is told, and changes nothing."""

    async def rollback(self, bind: Bind) -> None:
        """Take back what `pre_bind` did, as far as it was done. What is raised is told, and tried again."""

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """An object was reported; of one that is gone, `before` is the object itself."""

    async def serve(self) -> None:
        """Work beside the binds until cancelled; begins when everything has been listed and we are in charge."""
