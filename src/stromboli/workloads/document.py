"""A workload as it was read, with access to its fields that reports wrong types with the field and a remedy.

Workloads are not decoded into structs: their templates must keep every field, and third-party kinds have many versions.
A field that is absent or null has its default, as for the controllers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from stromboli.kube.manifests.errors import ObjectError, description_of
from stromboli.kube.manifests.origins import path_of
from stromboli.kube.objects.kinds import as_type
from stromboli.kube.objects.pod import Pod
from stromboli.workloads.templates import Kind

DEFAULT_NAMESPACE = "default"
_MAX_COUNT = 2**31 - 1


class WorkloadDocument:
    """A workload; paths of fields are written as in messages: `spec.tasks[0].replicas`."""

    def __init__(self, document: Mapping[str, Any], name: str = "") -> None:
        """`name` replaces the name, for workloads whose pods would have the names of another one's pods."""
        self.document = document
        self.kind: Kind = (str(document.get("apiVersion") or "").rpartition("/")[0], str(document.get("kind") or ""))
        self._name = name

    @cached_property
    def name(self) -> str:
        name = self._name or self.text("metadata.name") or self.text("metadata.generateName").rstrip("-")
        if not name:
            raise self.error("metadata.name", "is missing", "write a name such as train-1")
        return name

    @cached_property
    def namespace(self) -> str:
        return self.text("metadata.namespace") or DEFAULT_NAMESPACE

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def uid(self) -> str:
        """The uid; empty in a manifest."""
        return self.text("metadata.uid")

    @property
    def labels(self) -> Mapping[str, str]:
        return self.texts("metadata.labels")

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.texts("metadata.annotations")

    def error(self, path: str, message: str, remedy: str) -> ObjectError:
        metadata = self.document.get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        parts = (known.get("namespace"), known.get("name") or known.get("generateName"))
        name = "/".join(part for part in parts if isinstance(part, str) and part)
        return ObjectError(self.kind[1], name, path, message, remedy)

    def value(self, path: str) -> Any:
        """Return the value of a field; None if it, or a part above it, is absent."""
        found: Any = self.document
        for step in path_of(path):
            # Most parts are dicts, and the check for any Mapping takes several times as long.
            if type(found) is dict or (isinstance(step, str) and isinstance(found, Mapping)):
                found = found.get(step)
            elif isinstance(step, int) and isinstance(found, Sequence) and not isinstance(found, str):
                found = found[step] if step < len(found) else None
            else:
                return None
        return found

    def count(self, path: str, default: int) -> int:
        """Return a number of pods. Raises ObjectError for anything else than a whole number of 0 or more."""
        value = self.value(path)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(path, f"expected an integer, got {description_of(value)}", "write a whole number")
        if not 0 <= value <= _MAX_COUNT:
            raise self.error(path, f"must be from 0 to {_MAX_COUNT}, got {value}", "write the number of pods")
        return value

    def text(self, path: str, default: str = "") -> str:
        value = self.value(path)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(path, f"expected a string, got {description_of(value)}", "put the value in quotes")
        return value

    def flag(self, path: str) -> bool:
        value = self.value(path)
        if value is not None and not isinstance(value, bool):
            raise self.error(path, f"expected a boolean, got {description_of(value)}", "write true or false")
        return bool(value)

    def map(self, path: str) -> Mapping[str, Any]:
        value = self.value(path)
        if value is not None and not isinstance(value, Mapping):
            message = f"expected a map, got {description_of(value)}"
            raise self.error(path, message, "write a map of keys and values")
        return value or {}

    def texts(self, path: str) -> Mapping[str, str]:
        """Return a map of strings, such as labels."""
        entries = self.map(path)
        for key, value in entries.items():
            if not isinstance(value, str):
                message = f"expected a string, got {description_of(value)}"
                raise self.error(f"{path}[{key}]", message, "put the value in quotes")
        return entries

    def length(self, path: str) -> int:
        """Return the number of items of a list."""
        value = self.value(path)
        if value is not None and not isinstance(value, list):
            raise self.error(path, f"expected a list, got {description_of(value)}", "write a list, one item per dash")
        return len(value or ())

    def items(self, path: str) -> list[Mapping[str, Any]]:
        """Return the maps of a list."""
        return [self.map(f"{path}[{place}]") for place in range(self.length(path))]

    def template(self, path: str) -> Mapping[str, Any]:
        """Return a pod template, which must have a spec, and can be decoded as a pod."""
        template = self.map(path)
        if not self.map(f"{path}.spec"):
            raise self.error(f"{path}.spec", "is missing", "write the spec of its pods")
        self.map(f"{path}.metadata")
        self.check_template(template, path)
        return template

    def check_template(self, template: Mapping[str, Any], path: str) -> None:
        """Raise ObjectError if a template, which is that of a field or changed by it, cannot be decoded as a pod."""
        metadata = template.get("metadata") or {}
        parts = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
        self._check_pod({"metadata": parts, "spec": template["spec"]}, path)

    def pod_spec(self, path: str) -> Mapping[str, Any]:
        """Return the spec of pods as a template."""
        template = {"spec": self.map(path)}
        self._check_pod(template, path.removesuffix(".spec"))
        return template

    def _check_pod(self, pod: Mapping[str, Any], path: str) -> None:
        try:
            as_type(pod, Pod)
        except ObjectError as error:
            raise self.error(f"{path}.{error.field}", error.message, error.remedy) from None
