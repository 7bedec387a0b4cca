"""What all wire objects share: metadata, selectors, conditions, and the rules of the structs themselves.

A struct holds only the fields that somebody reads; the rest of an object is skipped while it is decoded,
which is what makes a list of a hundred thousand pods cheap. Any field may be absent or null on the wire, so a
field is None unless the sender said otherwise, and readers write `pod.spec.containers or ()`. The exceptions
are the parts without which there is nothing to read: `metadata`, `spec` and `status` are always there, and an
object's name, namespace and uid are text.
"""

from typing import Annotated, ClassVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

Resources = dict[str, str | int | float]
"""Amounts by resource name, as written: quantities are parsed where a unit is chosen for them."""


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A part of a wire object. It is a tree, so the cycle collector has no business with it."""


class OwnerReference(Wire):
    """Who created the object and takes it along when deleted."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire):
    """Who the object is. Times stay the text they came as: only the ones in use are worth parsing."""

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
    """One clause of a selector over labels or node fields. The operator is judged by whoever evaluates it."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class KubeLabelSelector(Wire):
    """All clauses must hold. No selector matches nothing; a selector without clauses matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[KubeRequirement] | None = None


class KubeCondition(Wire):
    """One observation in a status, keyed by its type."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class TopLevel(Wire):
    """A kind of its own, by its Kubernetes name `kind_name` and its API group, in any served version."""

    kind_name: ClassVar[str]
    group: ClassVar[str] = ""
    namespaced: ClassVar[bool] = False
    #: Parts whose fields are never None: a null in them means the same as leaving the field out.
    never_null: ClassVar[tuple[str, ...]] = ("metadata",)

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for what belongs to the whole cluster."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
