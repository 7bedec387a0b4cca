"""The served kinds: names, verbs and subresources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

#: Verbs of all stored kinds.
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """An additional printer column of a custom resource; `path` is a JSONPath such as `.status.phase`."""

    name: str
    type: str
    path: str
    description: str = ""
    format: str = ""
    #: Columns with a priority above 0 are shown only in the wide format.
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Paths of desired and observed replicas of a custom resource, such as `.spec.replicas`."""

    wanted: str
    found: str
    selector: str = ""


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A kind in one version of its group, as in paths and in discovery."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    #: The structural schema (`openAPIV3Schema`) of a custom resource; None for built-in kinds.
    schema: dict[str, Any] | None = None
    columns: tuple[PrinterColumn, ...] = ()
    #: None for built-in kinds, which have replicas at the usual paths.
    scale: ScalePaths | None = None
    #: Selectable fields of a custom resource.
    selectable_fields: tuple[str, ...] = ()
    status_subresource: bool = False
    is_custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """`podgroups.scheduling.volcano.sh`, `pods`: as in error messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class KindRegistry:
    """The kinds served at present. Custom resources change with their definitions."""

    def __init__(self, resources: Iterable[ServedResource] = ()) -> None:
        self._served = {(each.group, each.version, each.plural): each for each in resources}

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(self._served.values())

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._served.get((group, version, plural))

    def named(self, group: str, version: str, plural: str) -> ServedResource:
        """Return a resource that is always served."""
        return self._served[group, version, plural]

    def of_kind(self, group: str, kind: str) -> ServedResource | None:
        """Return any version of the kind."""
        return next((each for each in self if each.group == group and each.kind == kind), None)

    def replace(self, group: str, plural: str, resources: Iterable[ServedResource]) -> None:
        """Replace the served versions of a resource."""
        self.remove(group, plural)
        self._served.update({(each.group, each.version, each.plural): each for each in resources})

    def remove(self, group: str, plural: str) -> None:
        for key in [key for key in self._served if key[0] == group and key[2] == plural]:
            del self._served[key]
