"""Rules of nodes: initial status and validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.pods.placement_validation import TAINT_EFFECTS
from stromboli.local.kinds.pods.resource_validation import amount_causes
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import not_allowed, one_of, required, wrong
from stromboli.local.kinds.validation.names import qualified_problem, value_problem

_MACHINE = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
#: Initial conditions of a node without any.
_SILENT: Object = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": dict.fromkeys(_MACHINE, "")}


class NodeStrategy(KindStrategy):
    """Nodes register with their status in one write. Allocatable defaults to the capacity."""

    status_at_creation = True

    def start_status(self, resource: ServedResource, body: Object) -> None:
        status = {**_SILENT, **(body.get("status") or {})}
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])
        body["status"] = status

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        yield from _taint_causes((body.get("spec") or {}).get("taints") or ())
        status = body.get("status") or {}
        for part in ("capacity", "allocatable"):
            for name, amount in (status.get(part) or {}).items():
                yield from _amount_causes(name, str(amount), f"status.{part}.{name}")

    def admit(self, resource: ServedResource, body: Object) -> None:
        """A new node is tainted until it is reported ready."""
        spec = body.get("spec") or {}
        taints = spec.get("taints") or []
        if not any((taint["key"], taint["effect"]) == tuple(_NOT_READY.values()) for taint in taints):
            body["spec"] = {**spec, "taints": [*taints, _NOT_READY]}

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        before = (old.get("spec") or {}).get("providerID")
        if before and before != (new.get("spec") or {}).get("providerID"):
            why = 'node updates may not change providerID except from "" to valid'
            yield not_allowed("spec.providerID", why)


def _amount_causes(name: str, amount: str, field: str) -> Iterator[Cause]:
    """Validate an amount; nodes may have resources that containers cannot request."""
    return (cause for cause in amount_causes(name, amount, field) if "standard resource" not in cause.message)


def _taint_causes(taints: Iterable[Object]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        field = f"metadata.taints[{index}]"
        key, effect, value = (taint.get(part) or "" for part in ("key", "effect", "value"))
        if problem := qualified_problem(key):
            yield wrong(f"{field}.key", key, problem)
        if problem := value_problem(value):
            yield wrong(f"{field}.value", value, problem)
        if effect:
            yield from one_of(f"{field}.effect", effect, TAINT_EFFECTS)
        else:
            yield required(f"{field}.effect")
        if (key, effect) in seen:
            why = f'Duplicate value: "{key}": taints must be unique by key and effect pair'
            yield Cause("FieldValueDuplicate", why, field)
        seen.add((key, effect))
