"""Rules of claims, volumes and storage classes."""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.quantities import amount_of
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import not_allowed, one_of, required, wrong

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_SETTLED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
#: Fields of a claim that may be set later if they are empty.
_LEFT_OPEN = ("storageClassName", "volumeName")


class ClaimStrategy(KindStrategy):
    """Claims need a size and access modes, and are immutable after binding."""

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        body["spec"] = {**spec, "volumeMode": spec.get("volumeMode") or "Filesystem"}

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        spec = body["spec"]
        if not spec.get("accessModes"):
            yield required("spec.accessModes", "at least 1 access mode is required")
        for mode in spec.get("accessModes") or ():
            yield from one_of("spec.accessModes", mode, _ACCESS_MODES)
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        if storage is None:
            yield required("spec.resources[storage]")
        elif amount_of(str(storage)) <= 0:
            yield wrong("spec.resources[storage]", str(storage), "must be greater than zero")
        yield from one_of("spec.volumeMode", spec["volumeMode"], _VOLUME_MODES)

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        before, after = old["spec"], new["spec"]
        free = [name for name in _LEFT_OPEN if not before.get(name)]
        if (old.get("status") or {}).get("phase") == "Bound":
            free += ["resources", "volumeAttributesClassName"]
        if {k: v for k, v in before.items() if k not in free} != {k: v for k, v in after.items() if k not in free}:
            yield not_allowed("spec", _SETTLED)


class VolumeStrategy(KindStrategy):
    """Volumes are retained by default."""

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        defaults = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
        body["spec"] = {**defaults, **spec}


class StorageClassStrategy(KindStrategy):
    """Storage classes need a provisioner; binding is immediate and volumes are deleted by default."""

    def default(self, resource: ServedResource, body: Object) -> None:
        for field, usual in (("reclaimPolicy", "Delete"), ("volumeBindingMode", "Immediate")):
            if body.get(field) is None:
                body[field] = usual

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        if not body.get("provisioner"):
            yield required("provisioner")
