"""Shared parts of all wire objects: metadata, selectors, conditions, and the rules of the structs.

A struct has only the fields that the code reads; other fields are skipped by the decoder, which makes a list of a
hundred thousand pods cheap. Any field may be absent or null on the wire, so a field is None unless it was sent, and
readers write `pod.spec.containers or ()`. The exceptions: `metadata`, `spec` and `status` are always present, and an
object's name, namespace and uid are strings.
"""

import re
from sys import intern
from typing import Annotated, ClassVar

import msgspec

#: The names of most objects, and those of hosts: DNS subdomains, of at most 253 characters.
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

Resources = dict[str, str | int | float]
"""Amounts by resource name, as written; quantities are parsed where their unit is chosen."""


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A part of a wire object. It is a tree, so the cyclic garbage collector can ignore it."""


class OwnerReference(Wire):
    """The owner of an object; deleting the owner deletes the object."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire):
    """Metadata of an object. Timestamps stay text and are parsed only where they are used."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    generation: Int64 | None = None
    resource_version: str | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None


class KubeRequirement(Wire):
    """One requirement of a selector over labels or node fields. The evaluator checks the operator."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class KubeLabelSelector(Wire):
    """All requirements must hold. No selector matches nothing; an empty selector matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[KubeRequirement] | None = None


class KubeCondition(Wire):
    """One condition of a status, keyed by its type."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class TopLevel(Wire):
    """A kind of the API: `kind_name` in the API group `group`, in any served version."""

    kind_name: ClassVar[str]
    group: ClassVar[str] = ""
    namespaced: ClassVar[bool] = False
    #: Parts whose fields are never None: a null in them is the same as an absent field.
    never_null: ClassVar[tuple[str, ...]] = ("metadata",)

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for cluster-scoped objects. Tables by key share one copy of it."""
        metadata = self.metadata
        return intern(f"{metadata.namespace}/{metadata.name}") if metadata.namespace else metadata.name
