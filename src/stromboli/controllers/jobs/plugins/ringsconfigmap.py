"""The ConfigMap in which Huawei's device plugin describes the NPUs of a Job, mounted in all containers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import containers_of
from stromboli.controllers.jobs.plugins.plugin import PluginObject
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import VolcanoTask

_LABELS = {"ring-controller.atlas": "ascend-910b"}
_DATA = {"hccl.json": '{\n        "status":"initializing"\n    }'}
_FIELD = re.compile(r"\{\{\s*\.(\w+)\s*\}\}")


class RingsConfigMapPlugin(PluginWithFlags):
    name = "ringsconfigmap"
    flags = (
        PluginFlag(
            "configmap-name-template",
            "rings-config-{{.Name}}",
            "its name, with `{{.Name}}` and `{{.Namespace}}` of the Job",
        ),
        PluginFlag("volume-name", "ascend-910-config", "the name of the volume"),
        PluginFlag("mount-path", "/user/serverid/devindex/config", "the folder in the containers"),
        PluginFlag("configmap-labels", "", "more labels, as a JSON object"),
        PluginFlag("configmap-data", "", "more files, as a JSON object"),
        PluginFlag("configmap-annotations", "", "annotations, as a JSON object"),
    )

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        for name in ("configmap-name-template", "volume-name", "mount-path"):
            if not self.values[name]:
                raise self.invalid(name, "", "is empty", "write a value, or leave it out")
        template = self.values["configmap-name-template"]
        if "{{" in _FIELD.sub("", template) or not set(_FIELD.findall(template)) <= {"Name", "Namespace"}:
            remedy = "use {{.Name}} and {{.Namespace}}"
            raise self.invalid("configmap-name-template", template, "has other fields", remedy)
        self._parts = {name: self._entries(name) for name in ("labels", "data", "annotations")}

    def _entries(self, part: str) -> Mapping[str, str]:
        name = f"configmap-{part}"
        text = self.values[name]
        try:
            entries = json.loads(text or "{}")
        except ValueError:
            entries = None
        if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
            raise self.invalid(name, text, "is not a JSON object of strings", f"""write --{name}={{"key":"value"}}""")
        return entries

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        """A volume or mount of the template with this name comes first."""
        spec, name = pod["spec"], self.values["volume-name"]
        volumes = spec.get("volumes") or ()
        if all(each.get("name") != name for each in volumes):
            spec["volumes"] = [*volumes, {"name": name, "configMap": {"name": self._name(job)}}]
        for container in containers_of(pod, with_init=True):
            mounts = container.get("volumeMounts") or ()
            if all(each.get("name") != name for each in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "mountPath": self.values["mount-path"]}]

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        return (PluginObject("v1", "ConfigMap", self._name(job), self._config_map),)

    def _name(self, job: WorkloadDocument) -> str:
        fields = {"Name": job.name, "Namespace": job.namespace}
        return _FIELD.sub(lambda match: fields[match[1]], self.values["configmap-name-template"]).strip()

    def _config_map(self) -> dict[str, Any]:
        parts = self._parts
        metadata = {"labels": {**_LABELS, **parts["labels"]}, "annotations": dict(parts["annotations"])}
        return {"metadata": metadata, "data": {**_DATA, **parts["data"]}}
