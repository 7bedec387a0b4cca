"""Namespaces: their labels, which namespace selectors of pods match."""

from collections.abc import Iterable, Mapping

from stromboli import kube


class NamespaceLabels:
    def __init__(self) -> None:
        self.by_name: dict[str, Mapping[str, str]] = {}
        #: Whether labels have changed since the pods that select by them were decoded.
        self.is_outdated = False
        self._objects: dict[str, kube.Namespace] = {}

    def objects(self) -> Iterable[kube.Namespace]:
        return self._objects.values()

    def apply(self, namespace: kube.Namespace) -> None:
        name, labels = namespace.key, namespace.metadata.labels or {}
        self._objects[name] = namespace
        if self.by_name.get(name) != labels:
            self.by_name[name] = labels
            self.is_outdated = True

    def remove(self, namespace: kube.Namespace) -> None:
        self._objects.pop(namespace.key, None)
        if self.by_name.pop(namespace.key, None) is not None:
            self.is_outdated = True
