"""The kinds that the server serves: what a path may name, and what clients may do with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

#: What every stored kind can be asked.
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get` as a custom resource declares it; `path` is a JSONPath such as `.status.phase`."""

    name: str
    type: str
    path: str
    description: str = ""
    format: str = ""
    #: 0 is always shown, more only in the wide form.
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom resource keeps how many there are to be and how many there are, as `.spec.replicas`."""

    wanted: str
    found: str
    selector: str = ""


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A kind in one version of its group, as it is found in paths and in discovery."""

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
    #: The structural schema (`openAPIV3Schema`) of a custom resource; None for what is built in.
    schema: dict[str, Any] | None = None
    columns: tuple[PrinterColumn, ...] = ()
    #: None for what is built in, which keeps its replicas where everybody expects them.
    scale: ScalePaths | None = None
    #: Fields of a custom resource that lists and watches may select by.
    selectable_fields: tuple[str, ...] = ()
    status_subresource: bool = False
    is_custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """`podgroups.scheduling.volcano.sh`, `pods`: as error messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class KindRegistry:
    """What is served at this moment. Custom resources come and go with their definitions."""

    def __init__(self, resources: Iterable[ServedResource] = ()) -> None:
        self._served = {(each.group, each.version, each.plural): each for each in resources}

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(self._served.values())

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._served.get((group, version, plural))

    def named(self, group: str, version: str, plural: str) -> ServedResource:
        """One that is always served."""
        return self._served[group, version, plural]

    def of_kind(self, group: str, kind: str) -> ServedResource | None:
        """Any version of the kind."""
        return next((each for each in self if each.group == group and each.kind == kind), None)

    def replace(self, group: str, plural: str, resources: Iterable[ServedResource]) -> None:
        """Serve these versions of a resource and no others."""
        self.remove(group, plural)
        self._served.update({(each.group, each.version, each.plural): each for each in resources})

    def remove(self, group: str, plural: str) -> None:
        for key in [key for key in self._served if key[0] == group and key[2] == plural]:
            del self._served[key]
