"""Custom resources: a definition is served from its creation until the last of its objects is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stromboli.local.api_server.clock import now
from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import KindRegistry, PrinterColumn, ScalePaths, ServedResource
from stromboli.local.api_server.store import Object, Store, StoreEntry
from stromboli.local.kinds.custom_resources.schemas import defaulted, pruned, schema_causes
from stromboli.local.kinds.custom_resources.structural_schemas import places_of_rules, structural_causes
from stromboli.local.kinds.strategies import KindStrategy

CRD_GROUP = "apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class CustomStrategy(KindStrategy):
    """Objects of a custom resource, validated by their schema."""

    unconditional_update = False

    def counts_generations(self, resource: ServedResource) -> bool:
        return True

    def default(self, resource: ServedResource, body: Object) -> None:
        if resource.schema is None:
            return
        complete = defaulted(resource.schema, pruned(resource.schema, body))
        for key in [key for key in body if key not in complete]:
            del body[key]
        body.update(complete)

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        return schema_causes(resource.schema, body) if resource.schema is not None else ()

    def touch(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Object:
        """The status subresource changes the status only, not even labels."""
        if subresource != "status":
            return super().touch(resource, old, new, subresource)
        metadata = dict(old["metadata"])
        if "managedFields" in new["metadata"]:
            metadata["managedFields"] = new["metadata"]["managedFields"]
        return super().touch(resource, old, {**new, "metadata": metadata}, subresource)

    def is_next_generation(self, resource: ServedResource, old: Object, new: Object) -> bool:
        """Without a status subresource the status is an ordinary field."""
        if resource.status_subresource:
            return super().is_next_generation(resource, old, new)
        return {**old, "metadata": None} != {**new, "metadata": None}


class DefinitionStrategy(KindStrategy):
    """CustomResourceDefinitions: served as soon as they are stored."""

    def __init__(self, store: Store, registry: KindRegistry) -> None:
        self._store = store
        self._registry = registry

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        names = spec.get("names") or {}
        kind = names.get("kind", "")
        complete = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
        body["spec"] = {"conversion": {"strategy": "None"}, **spec, "names": complete}

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        spec = body["spec"]
        names, group = spec["names"], spec.get("group", "")
        for field, value in (
            ("spec.group", group),
            ("spec.names.plural", names.get("plural")),
            ("spec.names.kind", names.get("kind")),
        ):
            if not value:
                yield Cause("FieldValueRequired", "Required value", field)
        wanted = f"{names.get('plural')}.{group}"
        if body["metadata"].get("name") != wanted:
            why = f'Invalid value: "{body["metadata"].get("name")}": must be spec.names.plural+"."+spec.group'
            yield Cause("FieldValueInvalid", why, "metadata.name")
        if spec.get("scope") not in ("Namespaced", "Cluster"):
            why = f'Unsupported value: "{spec.get("scope", "")}": supported values: "Cluster", "Namespaced"'
            yield Cause("FieldValueNotSupported", why, "spec.scope")
        yield from _version_causes(spec.get("versions") or [])

    def warnings(self, resource: ServedResource, body: Object) -> Iterable[str]:
        """Warn about CEL rules in schemas, which are not enforced."""
        for version in body["spec"]["versions"]:
            for place in places_of_rules(version["schema"]["openAPIV3Schema"]):
                where = f"spec.versions[{version['name']}].schema.openAPIV3Schema{place}"
                yield f"{where}: x-kubernetes-validations are stored but not enforced by the local API server"

    def start_status(self, resource: ServedResource, body: Object) -> None:
        spec = body["spec"]
        reasons = (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
        body["status"] = {
            "acceptedNames": spec["names"],
            "conditions": [
                {"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
                for type_, reason, message in reasons
            ],
            "storedVersions": [version["name"] for version in spec.get("versions") or () if version.get("storage")],
        }

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        for path in (("group",), ("scope",), ("names", "kind"), ("names", "plural")):
            before, after = _at(old["spec"], path), _at(new["spec"], path)
            if before != after:
                why = f'Invalid value: "{after}": field is immutable'
                yield Cause("FieldValueInvalid", why, "spec." + ".".join(path))

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        """Deleting a definition deletes its objects first."""
        finalizers = body["metadata"].get("finalizers", [])
        if CLEANUP not in finalizers:
            body["metadata"]["finalizers"] = [*finalizers, CLEANUP]

    def written(self, resource: ServedResource, entry: StoreEntry, previous: StoreEntry | None) -> None:
        spec = entry.body["spec"]
        storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
        group, plural = spec["group"], spec["names"]["plural"]
        self._store.add_collection(group, plural, f"{group}/{storage}")
        self._registry.replace(group, plural, served_resources(entry.body))

    def removed(self, resource: ServedResource, entry: StoreEntry) -> None:
        spec = entry.body["spec"]
        self._registry.remove(spec["group"], spec["names"]["plural"])
        self._store.drop_collection(spec["group"], spec["names"]["plural"])


def _at(spec: Object, path: tuple[str, ...]) -> Any:
    value: Any = spec
    for step in path:
        value = value.get(step)
    return value


def _version_causes(versions: list[Object]) -> Iterator[Cause]:
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "Invalid value: must have exactly one version marked as storage version"
        yield Cause("FieldValueInvalid", why, "spec.versions")
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}].schema.openAPIV3Schema"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema:
            yield from structural_causes(schema, field)
        else:
            yield Cause("FieldValueRequired", "Required value: schemas are required", field)


def served_resources(definition: Object) -> Iterator[ServedResource]:
    """The resources that a definition serves, by version."""
    spec = definition["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            yield _served(spec, version)


def _served(spec: Object, version: Object) -> ServedResource:
    names = spec["names"]
    parts = version.get("subresources") or {}
    has_status, scale = "status" in parts, parts.get("scale")
    return ServedResource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        singular=names["singular"],
        kind=names["kind"],
        list_kind=names["listKind"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=(*(("status",) if has_status else ()), *(("scale",) if scale else ())),
        scale=_scale_paths(scale) if scale else None,
        schema=version["schema"]["openAPIV3Schema"],
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
        selectable_fields=tuple(each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()),
        status_subresource=has_status,
        is_custom=True,
    )


def _scale_paths(scale: dict[str, str]) -> ScalePaths:
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _column(column: dict[str, Any]) -> PrinterColumn:
    return PrinterColumn(
        name=column["name"],
        type=column["type"],
        path=column["jsonPath"],
        description=column.get("description", ""),
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )
