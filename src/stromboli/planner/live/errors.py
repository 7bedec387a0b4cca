"""Why a living cluster cannot be read, each with a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stromboli.kube.objects.resources import Resource

_CRDS = "stromboli manifests --only crds | kubectl apply --server-side -f -"


class ClusterError(Exception):
    """The cluster cannot be read; the message names the cause and a remedy."""


class NotAuthenticated(ClusterError):
    """The API server rejects the credentials."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"the API server rejects the credentials ({message}); log in again, or choose another user with "
            "--kubeconfig or --context"
        )


class AccessDenied(ClusterError):
    """Required kinds may not be listed in all namespaces."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = tuple(kinds)
        super().__init__(
            f"you may not list {', '.join(kinds)} in all namespaces; ask an administrator to bind the ClusterRole "
            "stromboli-viewer to you"
        )


class MissingKinds(ClusterError):
    """Required kinds are not served in the version that is used."""

    def __init__(self, resources: Sequence[Resource[Any]], versions: Sequence[str]) -> None:
        self.resources = tuple(resources)
        names = ", ".join(each.name for each in resources)
        if versions and resources[0].version not in versions:
            served = f"it serves {resources[0].group} in {', '.join(versions)} only, not in {resources[0].version}"
            super().__init__(f"the cluster has outdated CRDs: {served} with {names}; update them: {_CRDS}")
        else:
            super().__init__(f"the cluster has no {names}; install the CRDs first: {_CRDS}")
