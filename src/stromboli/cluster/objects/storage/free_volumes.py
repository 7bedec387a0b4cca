"""Unbound PersistentVolumes, tracked as they and their claims change."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.cluster.objects.storage.volume_needs import Storage, size_of, terms_of
from stromboli.core.model.volumes.volumes import FreeVolume
from stromboli.kube.objects.storage import PersistentVolume


class FreeVolumes:
    """Most volumes stay bound: only volumes with changes are evaluated again."""

    def __init__(self, storage: Storage, preemptors: Mapping[str, set[str]]) -> None:
        self._storage = storage
        #: By volume, the claims bound to it.
        self._bound_claims = preemptors
        self._free: dict[str, FreeVolume] = {}
        self._faults: dict[str, str] = {}
        self._stale: set[str] = set()

    def recheck(self, *names: str) -> None:
        """Evaluate these volumes again: they, or their claims, have changed."""
        self._stale.update(names)

    def all(self) -> tuple[FreeVolume, ...]:
        taken = {volume for _, volume in self._storage.decided.values() if volume}
        for name in self._stale:
            self._evaluate(name, taken)
        self._stale = set()
        return tuple(self._free.values())

    def faults(self) -> list[str]:
        return [self._faults[name] for name in sorted(self._faults)]

    def _evaluate(self, name: str, taken: set[str]) -> None:
        self._free.pop(name, None)
        self._faults.pop(name, None)
        volume = self._storage.volumes.get(name)
        if volume is None or not self._is_free(volume):
            return
        try:
            self._free[name] = _free(volume, is_promised=bool(claim_ref_key(volume)) or name in taken)
        except ValueError as error:
            self._faults[name] = f"PersistentVolume {name}: {error}; the volume is left out"

    def _is_free(self, volume: PersistentVolume) -> bool:
        """Report whether the volume is unbound and available. A released volume that is not reclaimed is neither."""
        if volume.metadata.deletion_timestamp is not None or volume.status.phase in ("Released", "Failed"):
            return False
        if any(self._storage.claims[key].is_bound for key in self._bound_claims.get(volume.metadata.name, ())):
            return False
        to = volume.spec.claim_ref
        claim = self._storage.claims.get(claim_ref_key(volume))
        return to is None or not to.uid or (claim is not None and claim.metadata.uid == to.uid)


def claim_ref_key(volume: PersistentVolume) -> str:
    """Key of the claim in a volume's claimRef; empty for none."""
    to = volume.spec.claim_ref
    return f"{to.namespace}/{to.name}" if to is not None and to.name else ""


def _free(volume: PersistentVolume, *, is_promised: bool) -> FreeVolume:
    spec = volume.spec
    return FreeVolume(
        volume.metadata.name,
        spec.storage_class_name or "",
        size_of(spec.capacity, "spec.capacity"),
        frozenset(spec.access_modes or ()),
        spec.volume_mode or "Filesystem",
        volume.metadata.labels or {},
        terms_of(volume),
        is_promised,
    )
