"""Resource claims, device classes and slices in a line, for cases that are about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.cluster.objects.claims.extended_resources import claim_name
from stromboli.kube.objects.claims import EXTENDED_CLAIM
from stromboli.kube.objects.pod import Pod
from tests.testing.manifests.builders import LONG_AGO, Manifest, given, manifest

RESOURCE = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"


def cel(*expressions: str) -> list[Manifest] | None:
    return [{"cel": {"expression": expression}} for expression in expressions] or None


def attribute(value: object) -> Manifest:
    """An attribute of a device; text that begins with v is a version."""
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    text = str(value)
    return {"version": text[1:]} if text[:1] == "v" and text[1:2].isdigit() else {"string": text}


def device(
    name: str,
    *,
    capacity: Mapping[str, object] | None = None,
    takes: Mapping[str, object] | None = None,
    taint: str = "",
    policy: Manifest | None = None,
    more: Mapping[str, Any] | None = None,
    **attributes: object,
) -> Manifest:
    """A device with attributes; it `takes` from the counters of the set `cs`."""
    held = {key: given(value=str(value), requestPolicy=policy) for key, value in (capacity or {}).items()}
    counters = {key: {"value": str(value)} for key, value in (takes or {}).items()}
    key, _, effect = taint.partition(":")
    return given(
        name=name,
        attributes={key.replace("__", "/"): attribute(value) for key, value in attributes.items()} or None,
        capacity=held or None,
        consumesCounters=[{"counterSet": "cs", "counters": counters}] if counters else None,
        taints=[{"key": key, "effect": effect}] if taint else None,
        **(more or {}),
    )


def numbered(count: int, **facts: Any) -> list[Manifest]:
    return [device(f"gpu-{number}", **facts) for number in range(count)]


def offer(
    on: str | None,
    *devices: Any,
    pool: str = "",
    name: str = "",
    generation: int = 1,
    slices: int = 1,
    counters: Mapping[str, object] | None = None,
    driver: str = DRIVER,
    **spec: Any,
) -> Manifest:
    """A slice on a node; the pool has the name of the node. A number means that many plain devices."""
    members = [each for entry in devices for each in (numbered(entry) if isinstance(entry, int) else [entry])]
    shared = {key: {"value": str(value)} for key, value in (counters or {}).items()}
    described = given(
        driver=driver,
        nodeName=on,
        pool={"name": pool or on or "net", "generation": generation, "resourceSliceCount": slices},
        devices=members,
        sharedCounters=[{"name": "cs", "counters": shared}] if shared else None,
        **spec,
    )
    return manifest("ResourceSlice", name or f"{pool or on or 'net'}-{generation}", RESOURCE, spec=described)


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Manifest:
    selectors = cel(*(expressions or (f'device.driver == "{DRIVER}"',)))
    return manifest("DeviceClass", name, RESOURCE, spec=given(selectors=selectors, **spec))


def exactly(
    count: int | str = 1, *expressions: str, of: str = "gpu", name: str = "r", capacity: Any = None, **facts: Any
) -> Manifest:
    """A request for a number of devices, or for "All"."""
    mode = {"allocationMode": "All"} if count == "All" else given(count=None if count == 1 else count)
    wanted = {"requests": capacity} if capacity else None
    exact = given(deviceClassName=of, selectors=cel(*expressions), capacity=wanted, **mode, **facts)
    return {"name": name, "exactly": exact}


def first_of(*ways: Manifest, name: str = "r") -> Manifest:
    """A request with alternatives in order of preference."""
    return {"name": name, "firstAvailable": [{"name": way["name"], **way["exactly"]} for way in ways]}


def matching(attribute: str, *requests: str) -> Manifest:
    return given(matchAttribute=attribute, requests=list(requests) or None)


def distinct(attribute: str, *requests: str) -> Manifest:
    return given(distinctAttribute=attribute, requests=list(requests) or None)


def claim_spec(*requests: Manifest, constraints: Sequence[Manifest] = (), **more: Any) -> Manifest:
    """The spec of a claim."""
    devices = given(requests=list(requests) or [exactly()], constraints=list(constraints) or None, **more)
    return {"devices": devices}


def attempted_claim(pod: Pod, spec: Manifest) -> Manifest:
    """The claim that an earlier attempt created for the extended resources of a pod."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid, "controller": True}
    metadata = {"name": claim_name(pod), "annotations": {EXTENDED_CLAIM: "true"}, "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": spec}


def resource_claim(
    name: str = "mine",
    spec: Manifest | None = None,
    *,
    has: Sequence[str] = (),
    on: str = "",
    used_by: Sequence[str] = (),
    leaving: bool = False,
    owner: str = "",
) -> Manifest:
    """A claim; one that `has` devices (`pool/device`) can be used `on` a node, or everywhere."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": each.partition("/")[0], "device": each.partition("/")[2]}
        for each in has
    ]
    fields = [{"key": "metadata.name", "operator": "In", "values": [on]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]} if on else None
    status = given(
        allocation=given(devices={"results": results}, nodeSelector=selector) if has else None,
        reservedFor=[{"resource": "pods", "name": uid, "uid": uid} for uid in used_by] or None,
    )
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": owner, "controller": True}]
    metadata = given(
        deletionTimestamp=LONG_AGO if leaving else None,
        finalizers=["resource.kubernetes.io/delete-protection"] if has else None,
        ownerReferences=owners if owner else None,
    )
    return manifest(
        "ResourceClaim", name, RESOURCE, "default", metadata=metadata, spec=spec or claim_spec(), status=status
    )


def template(spec: Manifest | None = None, name: str = "each") -> Manifest:
    return manifest("ResourceClaimTemplate", name, RESOURCE, "default", spec={"spec": spec or claim_spec()})


def claiming(*claims: str, **templates: str) -> list[Manifest]:
    """The claims of a pod: by name, and from templates."""
    named = [{"name": name, "resourceClaimName": name} for name in claims]
    made = [{"name": name, "resourceClaimTemplateName": source} for name, source in templates.items()]
    return [*named, *made]
