"""Resources: API group, version and plural, which form the path on an API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote

from stromboli.kube.objects.meta import TopLevel

T = TypeVar("T", bound=TopLevel)


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A kind as served in one API version. Objects are decoded as `type`."""

    type: type[T]
    version: str
    plural: str

    @property
    def group(self) -> str:
        return self.type.group

    @property
    def kind(self) -> str:
        return self.type.kind_name

    @property
    def namespaced(self) -> bool:
        return self.type.namespaced

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """`podgroups.scheduling.volcano.sh`, `pods`: unambiguous, for messages and metrics."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path of a collection, an object or a subresource; without a namespace, of all namespaces."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/".join(parts)
