"""Validation of containers, and of the volumes and claims that they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.pods.resource_validation import resource_causes
from stromboli.local.kinds.validation.field_errors import (
    duplicate,
    missing,
    not_allowed,
    one_of,
    required,
    unique_label,
    wrong,
)
from stromboli.local.kinds.validation.names import subdomain_problem

CONTAINER_LISTS = ("containers", "initContainers")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HIGHEST_PORT = 65535
_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def containers_causes(spec: Object, field: str) -> Iterator[Cause]:
    """Validate all containers of a pod; names are unique across containers and init containers."""
    if not spec.get("containers"):
        yield required(f"{field}.containers")
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    claims = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for kind in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(kind) or ()):
            place = f"{field}.{kind}[{index}]"
            yield from unique_label(f"{place}.name", container.get("name"), seen)
            yield from _container_causes(container, place)
            if container.get("volumeMounts"):
                yield from _mount_causes(container["volumeMounts"], f"{place}.volumeMounts", volumes)
            yield from _claim_use_causes(container.get("resources") or {}, f"{place}.resources.claims", claims)


def _container_causes(container: Object, field: str) -> Iterator[Cause]:
    image = container.get("image")
    if not image:
        yield required(f"{field}.image")
    elif image != image.strip():
        yield wrong(f"{field}.image", image, "must not have leading or trailing whitespace")
    yield from one_of(f"{field}.imagePullPolicy", container["imagePullPolicy"], _PULL_POLICIES)
    if resources := container.get("resources"):
        yield from resource_causes(resources, f"{field}.resources")
    for index, port in enumerate(container.get("ports") or ()):
        yield from _port_causes(port, f"{field}.ports[{index}]")
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield required(f"{field}.env[{index}].name")
    for name in _PROBES:
        if (probe := container.get(name)) is not None and not any(probe.get(each) for each in _HANDLERS):
            yield required(f"{field}.{name}", "must specify a handler type")


def _port_causes(port: Object, field: str) -> Iterator[Cause]:
    number = port.get("containerPort")
    if not number:
        yield required(f"{field}.containerPort")
    elif not 0 < number <= _HIGHEST_PORT:
        yield wrong(f"{field}.containerPort", number, f"must be between 1 and {_HIGHEST_PORT}, inclusive")
    yield from one_of(f"{field}.protocol", port["protocol"], _PROTOCOLS)


def _mount_causes(mounts: list[Object], field: str, volumes: set[Any]) -> Iterator[Cause]:
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        place, name, path = f"{field}[{index}]", mount.get("name") or "", mount.get("mountPath")
        if not name:
            yield required(f"{place}.name")
        if name not in volumes:
            yield missing(f"{place}.name", name)
        if not path:
            yield required(f"{place}.mountPath")
        elif path in paths:
            yield wrong(f"{place}.mountPath", path, "must be unique")
        else:
            paths.add(path)


def _claim_use_causes(resources: Object, field: str, claims: set[Any]) -> Iterator[Cause]:
    for index, use in enumerate(resources.get("claims") or ()):
        if use.get("name") not in claims:
            known = "which is empty" if not claims else ", ".join(sorted(str(claim) for claim in claims))
            why = f"must be one of the names in pod.spec.resourceClaims {known}"
            yield missing(f"{field}[{index}]", str(use.get("name") or ""), why)


def volumes_causes(volumes: list[Object], field: str) -> Iterator[Cause]:
    """Each volume has a unique name and one source."""
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        yield from unique_label(f"{field}[{index}].name", volume.get("name"), seen)
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        for source in sources[1:]:
            yield not_allowed(f"{field}[{index}].{source}", "may not specify more than 1 volume type")


def claims_causes(claims: list[Object], field: str) -> Iterator[Cause]:
    """Each resource claim has a unique name and exactly one source."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        place = f"{field}[{index}]"
        yield from unique_label(f"{place}.name", claim.get("name"), seen)
        sources = [source for source in _SOURCES if claim.get(source)]
        if len(sources) > 1:
            yield _claim_cause(claim, place, f"at most one of `{sources[0]}` or `{sources[1]}` may be specified")
        elif not sources:
            yield _claim_cause(claim, place, f"must specify one of: `{_SOURCES[0]}`, `{_SOURCES[1]}`")
        elif problem := subdomain_problem(claim[sources[0]]):
            yield wrong(f"{place}.{sources[0]}", claim[sources[0]], problem)


def _claim_cause(claim: Object, field: str, why: str) -> Cause:
    shown = {"Name": claim.get("name") or "", **{each[0].upper() + each[1:]: claim.get(each) for each in _SOURCES}}
    return Cause("FieldValueInvalid", f"Invalid value: {msgspec.json.encode(shown).decode()}: {why}", field)


def gates_causes(gates: list[Object], field: str) -> Iterator[Cause]:
    names = [gate.get("name") or "" for gate in gates]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield duplicate(f"{field}[{index}]", name)
