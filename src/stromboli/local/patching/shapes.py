"""How the parts of an object merge: field by field, as a list with keys, as a set, or as one value.

What is built in carries its rules in a table of field names, since the same names merge alike in every kind; a custom
resource declares them in its schema. Patches and server-side apply walk objects along a shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")

#: Fields that tell the items of a list apart. A strategic merge looks only at the first of them.
_KEYED_LISTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_CONTAINERS, ("name",)),
    "addresses": ("type",),
    "conditions": ("type",),
    "drivers": ("name",),
    "env": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "reservedFor": ("uid",),
    "resourceClaimStatuses": ("name",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}

#: Fields whose meaning depends on what they stand in.
_KEYED_LISTS_BY_PARENT: dict[tuple[str, str], tuple[str, ...]] = {
    **{(parent, "ports"): ("containerPort", "protocol") for parent in _CONTAINERS},
    ("spec", "ports"): ("port", "protocol"),
    ("resources", "claims"): ("name",),
}

_SETS = frozenset({"finalizers", "podCIDRs"})

#: Maps that are one value: a selector is replaced, never mixed.
_ATOMIC_MAPS = frozenset(
    {
        "claimRef",
        "configMapKeyRef",
        "dataSource",
        "fieldRef",
        "involvedObject",
        "labelSelector",
        "namespaceSelector",
        "nodeSelector",
        "objectSelector",
        "podSelector",
        "regarding",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "resourceFieldRef",
        "secretKeyRef",
        "selector",
    }
)

_KEY_DEFAULTS: dict[str, Any] = {"protocol": "TCP"}


class Shape(Protocol):
    """One place in an object."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that tell list items apart; empty where a list has none."""
        ...

    @property
    def is_set(self) -> bool:
        """A list of plain values, each at most once."""
        ...

    @property
    def is_atomic_map(self) -> bool:
        """A map that is replaced as a whole."""
        ...

    def key_default(self, key: str) -> Any:
        """What an item means that leaves the key out."""
        ...

    def field(self, name: str) -> Shape: ...

    def item(self) -> Shape: ...


@dataclass(frozen=True, slots=True)
class BuiltInShape:
    """The rules of the built-in kinds, found by the name of a field and of what it stands in."""

    name: str
    keys: tuple[str, ...]
    is_set: bool
    is_atomic_map: bool

    def key_default(self, key: str) -> Any:
        return _KEY_DEFAULTS.get(key)

    def field(self, name: str) -> Shape:
        return built_in_shape(name, self.name)

    def item(self) -> Shape:
        """Items keep the name of their list: `ports` means something else in `containers` than in a Service."""
        return self


@lru_cache(maxsize=4096)
def built_in_shape(name: str, parent: str = "") -> BuiltInShape:
    """Shapes are met again with every object, so that each is made once."""
    keys = _KEYED_LISTS_BY_PARENT.get((parent, name)) or _KEYED_LISTS.get(name, ())
    return BuiltInShape(name, keys, name in _SETS, name in _ATOMIC_MAPS)


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """The rules that a structural schema declares with `x-kubernetes-list-type` and its relatives."""

    schema: dict[str, Any]
    is_root: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        is_map = self.schema.get("x-kubernetes-list-type") == "map"
        return tuple(self.schema.get("x-kubernetes-list-map-keys") or ()) if is_map else ()

    @property
    def is_set(self) -> bool:
        return self.schema.get("x-kubernetes-list-type") == "set"

    @property
    def is_atomic_map(self) -> bool:
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    def key_default(self, key: str) -> Any:
        properties = (self.schema.get("items") or {}).get("properties") or {}
        return (properties.get(key) or {}).get("default")

    def field(self, name: str) -> Shape:
        if self.is_root and name == "metadata":
            return built_in_shape("metadata")
        declared = (self.schema.get("properties") or {}).get(name)
        return SchemaShape(_schema(declared) or _schema(self.schema.get("additionalProperties")))

    def item(self) -> Shape:
        return SchemaShape(_schema(self.schema.get("items")))


BUILT_IN: Shape = built_in_shape("")


def custom_shape(schema: dict[str, Any] | None) -> Shape:
    """The shape of a custom resource; without a schema, lists are single values."""
    return SchemaShape(_schema(schema), is_root=True)


def _schema(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
