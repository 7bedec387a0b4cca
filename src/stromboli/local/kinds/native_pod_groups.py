"""Native PodGroups (scheduling.k8s.io), served if the feature is enabled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store
from stromboli.local.kinds.priority_classes import PodPriorities
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import required, wrong

GROUP = "scheduling.k8s.io"
NATIVE_GROUPS = ServedResource(
    group=GROUP,
    version="v1beta1",
    plural="podgroups",
    singular="podgroup",
    kind="PodGroup",
    list_kind="PodGroupList",
    namespaced=True,
    subresources=("status",),
    status_subresource=True,
)

_POLICY = "spec.schedulingPolicy"


class NativeGroupStrategy(KindStrategy):
    """The policy of a group is immutable, except for the minimum count."""

    def __init__(self, store: Store) -> None:
        self._priorities = PodPriorities(store)

    def counts_generations(self, resource: ServedResource) -> bool:
        return True

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        body["spec"] = {"disruptionMode": {"single": {}}, **spec}

    def admit(self, resource: ServedResource, body: Object) -> None:
        self._priorities.admit(resource, body)

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        policy = body["spec"].get("schedulingPolicy") or {}
        policies = [name for name in ("basic", "gang") if policy.get(name) is not None]
        if not policies:
            yield required(_POLICY, "must specify one of: `basic`, `gang`")
        elif len(policies) > 1:
            yield wrong(_POLICY, policies, "must specify exactly one of: `basic`, `gang`")
        elif "gang" in policies:
            yield from _gang_causes(policy["gang"])

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        if subresource != "status" and _without_count(old["spec"]) != _without_count(new["spec"]):
            yield wrong("spec", "", "field is immutable")


def _gang_causes(gang: Object) -> Iterator[Cause]:
    field, count = f"{_POLICY}.gang.minCount", gang.get("minCount")
    if count is None:
        yield required(field)
    elif count < 1:
        yield wrong(field, count, "must be greater than or equal to 1")


def _without_count(spec: Object) -> Object:
    policy = spec.get("schedulingPolicy") or {}
    gang = policy.get("gang")
    if gang is None:
        return spec
    rest = {key: value for key, value in gang.items() if key != "minCount"}
    return {**spec, "schedulingPolicy": {**policy, "gang": rest}}
