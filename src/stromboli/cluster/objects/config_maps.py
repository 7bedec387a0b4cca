"""ConfigMaps that plugins read."""

from collections.abc import Iterable, Mapping

from stromboli import kube


class ConfigMaps:
    def __init__(self) -> None:
        #: Data by key; replaced and never edited.
        self.data: Mapping[str, Mapping[str, str]] = {}
        self._objects: dict[str, kube.ConfigMap] = {}

    def apply(self, config_map: kube.ConfigMap) -> None:
        self._objects[config_map.key] = config_map
        self.data = {**self.data, config_map.key: config_map.data or {}}

    def remove(self, config_map: kube.ConfigMap) -> None:
        self._objects.pop(config_map.key, None)
        self.data = {key: data for key, data in self.data.items() if key != config_map.key}

    def objects(self) -> Iterable[kube.ConfigMap]:
        return self._objects.values()
