"""Requirements of the volume claims of a pod on its node, read from claims, volumes and storage classes.

A claim that is missing, lost, being deleted or not bound yet keeps its pods pending with the message that Kubernetes
uses. An invalid claim does so with the field that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stromboli import kube
from stromboli.cluster.objects.pods.constraints import requirement_of, selector_of
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.tasks.selectors import NodeTerm, Requirement
from stromboli.core.model.volumes.volumes import ZONE_LABELS, Attachment, BoundVolume, Terms, VolumeNeeds, WaitingClaim
from stromboli.kube.objects.constraints import NodeSelector
from stromboli.kube.objects.storage import (
    DEFAULT_CLASS,
    NO_PROVISIONER,
    CSIDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
#: Separator between the zones in the label of a volume that is in several.
_ZONE_SEPARATOR = "__"


@dataclass(frozen=True, slots=True)
class VolumeClaimUse:
    """A claim that a pod uses; an ephemeral one is owned by the pod."""

    key: str
    made_for_pod: bool = False


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """Requirements of a pod's claims, and the names of the unbound claims in the same order."""

    needs: VolumeNeeds | None = None
    claims: tuple[str, ...] = ()


class VolumesNotReady(Exception):
    """The claim keeps its pods pending; carries the reason."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.reason = Reason(code, detail)


@dataclass(slots=True)
class Storage:
    """Everything that the requirements of pods are read from."""

    #: Labels of a node; None if it does not exist.
    labels_of: Callable[[str], Mapping[str, str] | None]
    claims: dict[str, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)
    drivers: dict[str, CSIDriver] = field(default_factory=dict)
    #: By claim, the uids of the pods that use it.
    users: dict[str, set[str]] = field(default_factory=dict)
    #: By claim, the volume whose claimRef names it.
    references: dict[str, str] = field(default_factory=dict)
    #: By claim, the chosen node and volume (empty if it will be provisioned) that are not confirmed yet.
    decided: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: Drivers with an attach limit on some node.
    limited: frozenset[str] = frozenset()

    def class_name(self, claim: PersistentVolumeClaim) -> str:
        """The storage class of a claim; without one, the newest default class."""
        if claim.spec.storage_class_name is not None:
            return claim.spec.storage_class_name
        defaults = (one.metadata for one in self.classes.values() if is_default(one))
        return max(((each.creation_timestamp or "", each.name) for each in defaults), default=("", ""))[1]


def is_default(storage_class: StorageClass) -> bool:
    return (storage_class.metadata.annotations or {}).get(DEFAULT_CLASS) == "true"


def uses_of(pod: kube.Pod) -> tuple[VolumeClaimUse, ...]:
    """The claims that a pod uses, without duplicates."""
    namespace, uses = pod.metadata.namespace, {}
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            key = f"{namespace}/{volume.persistent_volume_claim.claim_name or ''}"
            uses[key] = VolumeClaimUse(key)
        elif volume.ephemeral is not None:
            key = f"{namespace}/{pod.metadata.name}-{volume.name or ''}"
            uses[key] = VolumeClaimUse(key, made_for_pod=True)
    return tuple(uses.values())


def size_of(resources: Mapping[str, str | int | float] | None, where: str) -> int:
    try:
        return parse_quantity((resources or {}).get("storage", 0), milli=False)
    except ValueError as error:
        raise ValueError(f"{where}.storage: {error}") from None


def request_of(claim: PersistentVolumeClaim) -> int:
    """Requested size of a claim in bytes. Raises ValueError with the field in front."""
    return size_of(claim.spec.resources.requests if claim.spec.resources else None, "spec.resources.requests")


def volume_terms(selector: NodeSelector | None, where: str) -> Terms:
    """The nodes that a node affinity selects; none if it has no term."""
    if selector is None:
        return None
    return tuple(
        NodeTerm(
            _requirements(term.match_expressions, f"{where}[{i}].matchExpressions"),
            _requirements(term.match_fields, f"{where}[{i}].matchFields"),
        )
        for i, term in enumerate(selector.node_selector_terms or ())
    )


def node_terms(node: str) -> Terms:
    """Exactly this node."""
    return (NodeTerm(fields=(Requirement("metadata.name", "In", (node,)),)),)


def _requirements(wire: Sequence[kube.KubeRequirement] | None, where: str) -> tuple[Requirement, ...]:
    return tuple(requirement_of(entry, f"{where}[{i}]", numbers=True) for i, entry in enumerate(wire or ()))


def terms_of(volume: PersistentVolume) -> Terms:
    """The nodes that can access a volume. Raises ValueError with the field in front."""
    affinity = volume.spec.node_affinity
    return volume_terms(affinity.required if affinity else None, "spec.nodeAffinity.required.nodeSelectorTerms")


def needs_of(pod: kube.Pod, uses: Sequence[VolumeClaimUse], storage: Storage) -> PodVolumes:
    """Return the requirements of the claims of a pod on its node."""
    reader = _VolumeNeedsReader(storage)
    for use in uses:
        try:
            reader.read(pod, use)
        except VolumesNotReady as unready:
            if not pod.spec.node_name:  # running pods do not wait for their claims
                return PodVolumes(VolumeNeeds(fault=unready.reason))
    return reader.result()


class _VolumeNeedsReader:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._bound: set[BoundVolume] = set()
        self._waiting: list[tuple[WaitingClaim, str]] = []
        self._attachments: list[Attachment] = []
        self._exclusive: list[str] = []

    def result(self) -> PodVolumes:
        waiting = sorted(self._waiting, key=lambda pair: (pair[0].size, repr(pair[0]), pair[1]))
        needs = VolumeNeeds(
            None,
            tuple(sorted(self._bound, key=repr)),
            tuple(claim for claim, _ in waiting),
            tuple(sorted(self._attachments, key=repr)),
            tuple(sorted(self._exclusive)),
        )
        return PodVolumes(None if needs == VolumeNeeds() else needs, tuple(name for _, name in waiting))

    def read(self, pod: kube.Pod, use: VolumeClaimUse) -> None:
        claim = self._claim(pod, use)
        if READ_WRITE_ONCE_POD in (claim.spec.access_modes or ()) and len(self._storage.users.get(use.key, ())) > 1:
            self._exclusive.append(use.key)
        try:
            if claim.is_bound:
                self._read_bound(claim)
            else:
                self._read_waiting(claim)
        except ValueError as error:
            raise VolumesNotReady(Code.INVALID_OBJECT, str(error)) from None

    def _claim(self, pod: kube.Pod, use: VolumeClaimUse) -> PersistentVolumeClaim:
        name = use.key.partition("/")[2]
        claim = self._storage.claims.get(use.key)
        if claim is None and use.made_for_pod:
            message = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            raise VolumesNotReady(Code.CLAIM_MISSING, message)
        if claim is None:
            raise VolumesNotReady(Code.CLAIM_MISSING, f'persistentvolumeclaim "{name}" not found')
        if use.made_for_pod and not any(
            owner.controller and owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references or ()
        ):
            message = f'persistentvolumeclaim "{name}" was not created for the pod: it is not its owner'
            raise VolumesNotReady(Code.CLAIM_MISSING, message)
        if claim.metadata.deletion_timestamp is not None:
            raise VolumesNotReady(Code.CLAIM_LOST, f'persistentvolumeclaim "{name}" is being deleted')
        if claim.status.phase == "Lost":
            lost = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
            raise VolumesNotReady(Code.CLAIM_LOST, lost)
        return claim

    # -- claims that have a volume ------------------------------------------------------------------------------

    def _read_bound(self, claim: PersistentVolumeClaim) -> None:
        name = claim.spec.volume_name or ""
        volume = self._storage.volumes.get(name)
        if volume is None:
            lost = f'persistentvolumeclaim "{claim.metadata.name}" bound to non-existent persistentvolume "{name}"'
            raise VolumesNotReady(Code.CLAIM_LOST, lost)
        try:
            bound = BoundVolume(terms_of(volume), zones_of(volume))
        except ValueError as error:
            raise ValueError(f"PersistentVolume {name}: {error}") from None
        if bound != BoundVolume():
            self._bound.add(bound)
        csi = volume.spec.csi
        if csi is not None and csi.driver in self._storage.limited:
            attachment = Attachment(csi.driver, csi.volume_handle or volume.metadata.name)
            if attachment not in self._attachments:
                self._attachments.append(attachment)

    # -- claims that wait ---------------------------------------------------------------------------------------

    def _read_waiting(self, claim: PersistentVolumeClaim) -> None:
        storage, name = self._storage, claim.metadata.name
        class_name = storage.class_name(claim)
        storage_class = storage.classes.get(class_name)
        if class_name and storage_class is None and not claim.spec.volume_name:
            missing = f'persistentvolumeclaim "{name}": storageclass.storage.k8s.io "{class_name}" not found'
            raise VolumesNotReady(Code.STORAGE_CLASS_MISSING, missing)
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        if claim.spec.volume_name or storage_class is None or not waits:
            raise VolumesNotReady(Code.CLAIM_UNBOUND, f'pod has unbound immediate PersistentVolumeClaims: "{name}"')
        self._waiting.append((self._demand(claim, storage_class), name))
        driver, key = storage_class.provisioner or "", claim.key
        if driver in storage.limited:  # the volume that this driver will provision counts as well
            self._attachments.append(Attachment(driver, key if len(storage.users.get(key, ())) > 1 else ""))

    def _demand(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> WaitingClaim:
        storage, spec, key = self._storage, claim.spec, claim.key
        node, promised = storage.decided.get(key, ("", ""))
        selected = node or claim.selected_node
        promised = promised or storage.references.get(key, "")
        where = f"PersistentVolumeClaim {key}: spec"
        driver = storage.drivers.get(storage_class.provisioner or "")
        return WaitingClaim(
            storage_class.metadata.name,
            size_of(spec.resources.requests if spec.resources else None, f"{where}.resources.requests"),
            tuple(sorted(spec.access_modes or ())),
            spec.volume_mode or "Filesystem",
            selector_of(spec.selector, f"{where}.selector") if spec.selector is not None else None,
            is_made=(storage_class.provisioner or NO_PROVISIONER) != NO_PROVISIONER and spec.selector is None,
            topologies=allowed_topologies(storage_class.allowed_topologies, storage_class.metadata.name),
            checks_capacity=driver is not None and bool(driver.spec.storage_capacity),
            node=selected if not promised and storage.labels_of(selected) is not None else "",
            promised=promised,
            shared=key if len(storage.users.get(key, ())) > 1 else "",
        )


def zones_of(volume: PersistentVolume) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Allowed values by node label; several zones in one label are separated by `__`."""
    labels = volume.metadata.labels or {}
    zones = {label: labels.get(label) or labels.get(old) for label, old in ZONE_LABELS.items()}
    return tuple((label, tuple(sorted(text.split(_ZONE_SEPARATOR)))) for label, text in zones.items() if text)


def allowed_topologies(wire: Sequence[TopologySelectorTerm] | None, name: str) -> Terms:
    """Nodes for which volumes of a class may be provisioned; all nodes if unrestricted."""
    if not wire:
        return None
    terms = []
    for i, term in enumerate(wire):
        where = f"StorageClass {name}: allowedTopologies[{i}].matchLabelExpressions"
        clauses = (kube.KubeRequirement(key=each.key, operator="In", values=each.values)
                   for each in term.match_label_expressions or ())  # fmt: skip
        terms.append(NodeTerm(_requirements(list(clauses), where)))
    return tuple(terms)
