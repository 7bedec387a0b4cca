"""Merge shapes: how the parts of an object merge, field by field, as a keyed list, as a set, or atomically.

Built-in kinds have a table of field names, since the same names merge alike in every kind; a custom resource declares
its shape in the schema. Patches and server-side apply walk objects along a shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")

#: Key fields of list items. A strategic merge uses only the first of them.
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

#: Fields whose shape depends on their parent.
_KEYED_LISTS_BY_PARENT: dict[tuple[str, str], tuple[str, ...]] = {
    **{(parent, "ports"): ("containerPort", "protocol") for parent in _CONTAINERS},
    ("spec", "ports"): ("port", "protocol"),
    ("resources", "claims"): ("name",),
}

_SETS = frozenset({"finalizers", "podCIDRs"})

#: Atomic maps: a selector is replaced, never merged.
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
    """The shape of one part of an object."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The key fields of list items; empty for a list without keys."""
        ...

    @property
    def is_set(self) -> bool:
        """A list of distinct scalars."""
        ...

    @property
    def is_atomic_map(self) -> bool:
        """A map that is replaced as a whole."""
        ...

    def key_default(self, key: str) -> Any:
        """The default of an absent key field."""
        ...

    def field(self, name: str) -> Shape: ...

    def item(self) -> Shape: ...


@dataclass(frozen=True, slots=True)
class BuiltInShape:
    """Shapes of built-in kinds, by the names of a field and of its parent."""

    name: str
    keys: tuple[str, ...]
    is_set: bool
    is_atomic_map: bool

    def key_default(self, key: str) -> Any:
        return _KEY_DEFAULTS.get(key)

    def field(self, name: str) -> Shape:
        return built_in_shape(name, self.name)

    def item(self) -> Shape:
        """Items keep the name of their list: `ports` of `containers` differ from those of a Service."""
        return self


@lru_cache(maxsize=4096)
def built_in_shape(name: str, parent: str = "") -> BuiltInShape:
    """Cached: every object uses the same shapes."""
    keys = _KEYED_LISTS_BY_PARENT.get((parent, name)) or _KEYED_LISTS.get(name, ())
    return BuiltInShape(name, keys, name in _SETS, name in _ATOMIC_MAPS)


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """Shapes declared by a structural schema with `x-kubernetes-list-type` and related keywords."""

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


def _schema(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
