"""Discovery: the served groups, versions and kinds.

There are two formats. Older clients request every group version by itself; newer ones request all of them at once
("aggregated"). Both come from the same list of served kinds, in its order: of groups with the same name, clients use
the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stromboli.local.api_server.registry import ServedResource

AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_VERSION = re.compile(r"^v(\d+)(?:(alpha|beta)(\d+))?$")
_STAGES = {"alpha": 1, "beta": 2, None: 3}

#: Subresources with a kind of their own, and their verbs.
_SUBRESOURCE_KINDS: Mapping[tuple[str, str], tuple[str, str, str]] = {
    ("pods", "attach"): ("", "v1", "PodAttachOptions"),
    ("pods", "binding"): ("", "v1", "Binding"),
    ("pods", "eviction"): ("policy", "v1", "Eviction"),
    ("pods", "exec"): ("", "v1", "PodExecOptions"),
    ("pods", "portforward"): ("", "v1", "PodPortForwardOptions"),
    ("serviceaccounts", "token"): ("authentication.k8s.io", "v1", "TokenRequest"),
}
_SUBRESOURCE_VERBS: Mapping[str, tuple[str, ...]] = {
    "attach": ("create", "get"),
    "binding": ("create",),
    "exec": ("create", "get"),
    "portforward": ("create", "get"),
    "eviction": ("create",),
    "log": ("get",),
    "token": ("create",),
}
_PARTIAL_VERBS = ("get", "patch", "update")


def wants_aggregated(accept: str) -> bool:
    """Report whether the `Accept` header requests a supported version of the aggregated format."""
    for choice in accept.split(","):
        parameters = {parameter.strip() for parameter in choice.split(";")}
        if {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"} <= parameters:
            return True
    return False


def core_versions(address: str) -> dict[str, Any]:
    """The response to `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def api_groups(resources: Iterable[ServedResource]) -> dict[str, Any]:
    """The response to `/apis`."""
    versions = _versions_by_group(resources)
    groups = [_group(name, versions[name]) for name in versions if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(resources: Iterable[ServedResource], group: str) -> dict[str, Any] | None:
    """The response to `/apis/<group>`; None if the group is not served."""
    versions = _versions_by_group(resources).get(group)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions else None


def resource_list(resources: Iterable[ServedResource], group: str, version: str) -> dict[str, Any] | None:
    """The response to `/api/v1` and `/apis/<group>/<version>`; None if it is not served."""
    served = [resource for resource in resources if (resource.group, resource.version) == (group, version)]
    if not served:
        return None
    entries = [entry for resource in served for entry in _entries(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": served[0].api_version, "resources": entries}


def aggregated(resources: Iterable[ServedResource], *, core: bool) -> dict[str, Any]:
    """All of `/api` or all of `/apis` in one response."""
    served = [resource for resource in resources if (resource.group == "") == core]
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
            "versions": [_aggregated_version(served, group, version) for version in versions],
        }
        for group, versions in _versions_by_group(served).items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def version_rank(version: str) -> tuple[int, int, int]:
    """Sort key of versions, the least preferred first: v1alpha1 < v1beta1 < v1 < v2; invalid ones come first."""
    match = _VERSION.match(version)
    if match is None:
        return (0, 0, 0)
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0))


def _versions_by_group(resources: Iterable[ServedResource]) -> dict[str, list[str]]:
    versions: dict[str, set[str]] = {}
    for resource in resources:
        versions.setdefault(resource.group, set()).add(resource.version)
    return {group: sorted(found, key=version_rank, reverse=True) for group, found in versions.items()}


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def _entries(resource: ServedResource) -> Iterable[dict[str, Any]]:
    """A kind and its subresources in the older, flat format."""
    yield {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    for subresource in resource.subresources:
        group, version, kind = _subresource_kind(resource, subresource)
        other = {} if (group, version) == (resource.group, resource.version) else {"group": group, "version": version}
        yield {
            "name": f"{resource.plural}/{subresource}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": list(_SUBRESOURCE_VERBS.get(subresource, _PARTIAL_VERBS)),
            **other,
        }


def _aggregated_version(resources: list[ServedResource], group: str, version: str) -> dict[str, Any]:
    served = [resource for resource in resources if (resource.group, resource.version) == (group, version)]
    return {"version": version, "resources": [_aggregated_resource(entry) for entry in served], "freshness": "Current"}


def _aggregated_resource(resource: ServedResource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    if resource.subresources:
        entry["subresources"] = [_aggregated_subresource(resource, name) for name in resource.subresources]
    return entry


def _aggregated_subresource(resource: ServedResource, subresource: str) -> dict[str, Any]:
    group, version, kind = _subresource_kind(resource, subresource)
    return {
        "subresource": subresource,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "verbs": list(_SUBRESOURCE_VERBS.get(subresource, _PARTIAL_VERBS)),
    }


def _subresource_kind(resource: ServedResource, subresource: str) -> tuple[str, str, str]:
    if subresource == "scale":
        return ("autoscaling", "v1", "Scale")
    own = (resource.group, resource.version, resource.kind)
    return _SUBRESOURCE_KINDS.get((resource.plural, subresource), own)


def _names(resource: ServedResource) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names
