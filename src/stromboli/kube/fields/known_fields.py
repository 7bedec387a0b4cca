"""The fields of each kind that is read from manifests.

Tables are complete for the built-in kinds of Kubernetes in version v1 and for the kinds whose definition is shipped.
For other kinds only the decoded fields are listed: there an unlisted field is misspelt only if it resembles a listed
one.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from msgspec import inspect

from stromboli.kube.crds.install import crd_documents
from stromboli.kube.fields.built_in import LIST, MAP, OBJECT, PLAIN, Fields, field_types, fields_of
from stromboli.kube.fields.kind_names import KINDS_OF_GROUPS
from stromboli.kube.objects.kinds import KINDS

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
#: Fields of Volcano's kinds with a type of Kubernetes.
_BUILT_IN_FIELDS = {"template": "PodTemplateSpec", "volumeClaim": "PersistentVolumeClaimSpec"}


class KnownFields(NamedTuple):
    fields: Fields
    is_complete: bool


@cache
def known_fields(api_version: str, kind: str) -> KnownFields | None:
    """Return the fields of a kind; None if it is not known."""
    group, _, version = api_version.rpartition("/")
    if (group, kind) in _custom_kinds():
        return KnownFields(_custom_kinds()[group, kind], True)
    is_built_in = version == "v1" and kind in KINDS_OF_GROUPS.get(group, ())
    built_in = fields_of(group, version, kind) if is_built_in else None
    if built_in is not None:
        return KnownFields(built_in, True)
    if (group, kind) not in KINDS:
        return None
    decoded = _of_struct(inspect.type_info(KINDS[group, kind])) or {}
    return KnownFields({**decoded, "metadata": (OBJECT, field_types()["ObjectMeta"])}, False)


@cache
def _custom_kinds() -> dict[tuple[str, str], Fields]:
    """The fields of the kinds with a definition, in all versions."""
    kinds: dict[tuple[str, str], Fields] = {}
    for definition in crd_documents():
        spec = definition["spec"]
        fields = kinds.setdefault((spec["group"], spec["names"]["kind"]), {})
        for version in spec["versions"]:
            fields.update(_of_schema(version["schema"]["openAPIV3Schema"]) or {})
        fields["metadata"] = OBJECT, field_types()["ObjectMeta"]
        fields["apiVersion"] = fields["kind"] = PLAIN, None
    return kinds


def _of_schema(schema: dict[str, Any]) -> Fields | None:
    """Return the fields of an object; None if it has none or may have others."""
    properties = schema.get("properties")
    if not properties or schema.get(_PRESERVE):
        return None
    return {name: _form_of_field(name, part) for name, part in properties.items()}


def _form_of_field(name: str, schema: dict[str, Any]) -> tuple[str, Fields | None]:
    """Definitions do not repeat the fields of Kubernetes' own types, so that new ones are accepted."""
    if schema.get(_PRESERVE) and name in _BUILT_IN_FIELDS:
        return OBJECT, field_types()[_BUILT_IN_FIELDS[name]]
    return _form_of_schema(schema)


def _form_of_schema(schema: dict[str, Any]) -> tuple[str, Fields | None]:
    if schema.get("type") == "array":
        return LIST, _of_schema(schema.get("items") or {})
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        return MAP, _of_schema(others)
    return (OBJECT, _of_schema(schema)) if "properties" in schema else (PLAIN, None)


def _of_struct(info: inspect.Type) -> Fields | None:
    if not isinstance(info, inspect.StructType):
        return None
    return {field.encode_name: _form_of_type(field.type) for field in info.fields}


def _form_of_type(info: inspect.Type) -> tuple[str, Fields | None]:
    if isinstance(info, inspect.UnionType):
        info = next((each for each in info.types if not isinstance(each, inspect.NoneType)), info)
    if isinstance(info, inspect.ListType):
        return LIST, _of_struct(info.item_type)
    if isinstance(info, inspect.DictType):
        return MAP, _of_struct(info.value_type)
    return (OBJECT, _of_struct(info)) if isinstance(info, inspect.StructType) else (PLAIN, None)
