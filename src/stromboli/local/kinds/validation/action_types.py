"""Types of actions: bindings, evictions, and DeleteOptions."""

from __future__ import annotations

import msgspec

from stromboli.kube.objects.meta import Int64, ObjectMeta


class _ActionPart(msgspec.Struct, rename="camel"):
    """Any field may be absent or null."""


class _Target(_ActionPart):
    kind: str | None = None
    name: str | None = None


class BindingTypes(_ActionPart):
    metadata: ObjectMeta | None = None
    target: _Target | None = None


class _Preconditions(_ActionPart):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptionsTypes(_ActionPart):
    grace_period_seconds: Int64 | None = None
    preconditions: _Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


class EvictionTypes(_ActionPart):
    metadata: ObjectMeta | None = None
    delete_options: DeleteOptionsTypes | None = None
