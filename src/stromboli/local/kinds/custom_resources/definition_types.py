"""Types of CustomResourceDefinitions, including the fields of their schemas."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.kube.objects.meta import ObjectMeta


class _DefinitionPart(msgspec.Struct, rename="camel"):
    """A part of a definition. Any field may be absent; unknown fields are ignored."""


class SchemaTypes(_DefinitionPart):
    type: str | None = None
    format: str | None = None
    description: str | None = None
    properties: dict[str, SchemaTypes] | None = None
    additional_properties: SchemaTypes | bool | None = None
    items: SchemaTypes | None = None
    required: list[str] | None = None
    enum: list[Any] | None = None
    nullable: bool | None = None
    pattern: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: bool | None = None
    exclusive_maximum: bool | None = None
    multiple_of: int | float | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    unique_items: bool | None = None
    all_of: list[SchemaTypes] | None = None
    any_of: list[SchemaTypes] | None = None
    one_of: list[SchemaTypes] | None = None
    not_: SchemaTypes | None = msgspec.field(default=None, name="not")
    int_or_string: bool | None = msgspec.field(default=None, name="x-kubernetes-int-or-string")
    preserve: bool | None = msgspec.field(default=None, name="x-kubernetes-preserve-unknown-fields")
    embedded: bool | None = msgspec.field(default=None, name="x-kubernetes-embedded-resource")
    list_type: str | None = msgspec.field(default=None, name="x-kubernetes-list-type")
    map_keys: list[str] | None = msgspec.field(default=None, name="x-kubernetes-list-map-keys")


class _VersionSchema(_DefinitionPart):
    schema: SchemaTypes | None = msgspec.field(default=None, name="openAPIV3Schema")


class _PrinterColumn(_DefinitionPart):
    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


class _SelectableField(_DefinitionPart):
    json_path: str


class _Version(_DefinitionPart):
    name: str
    served: bool = False
    storage: bool = False
    schema: _VersionSchema | None = None
    subresources: dict[str, Any] | None = None
    additional_printer_columns: list[_PrinterColumn] | None = None
    selectable_fields: list[_SelectableField] | None = None


class _Names(_DefinitionPart):
    plural: str = ""
    kind: str = ""
    singular: str = ""
    list_kind: str = ""
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _Spec(_DefinitionPart):
    group: str = ""
    scope: str = ""
    names: _Names = msgspec.field(default_factory=_Names)
    versions: list[_Version] | None = None


class DefinitionTypes(_DefinitionPart):
    """A CustomResourceDefinition as a whole."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
