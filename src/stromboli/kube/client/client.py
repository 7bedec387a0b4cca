"""Typed requests to the Kubernetes API.

There is no update: writing a whole object back would undo concurrent changes and drop the fields that are not decoded.
Changes are patches, with a resourceVersion inside where they depend on what was read.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec

from stromboli.kube.client.api_errors import Unreachable
from stromboli.kube.client.decoding import DecodedPage, Unreadable, decode_object, decode_page
from stromboli.kube.client.transport import Transport
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource

T = TypeVar("T", bound=TopLevel)

PAGE_SIZE = 500
FIELD_MANAGER = "stromboli"


class PatchKind(enum.Enum):
    """Content type of a patch. Custom resources do not support strategic merge."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(slots=True)
class Listing(Generic[T]):
    """All objects at one resource version, and those that could not be decoded."""

    items: list[T] = field(default_factory=list)
    resource_version: str = ""
    unreadable: list[Unreadable] = field(default_factory=list)


class Client(Transport):
    """Typed access to one server. Use it as `async with Client(connection) as client`."""

    #: Whether the server supports a list as the start of a watch; set to False by the first watch that fails to stream.
    streams_lists = True

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def get(
        self, resource: Resource[T], name: str, *, namespace: str = "", is_small: bool = False, from_cache: bool = False
    ) -> T:
        """Read an object; `from_cache`: from the watch cache of the server, which is a fraction of the work for it."""
        path = resource.path(namespace=self._namespace(resource, namespace), name=name)
        params = {"resourceVersion": "0"} if from_cache else None
        return _typed(resource, await self.request("GET", path, params=params, is_small=is_small))

    async def list(
        self,
        resource: Resource[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = PAGE_SIZE,
    ) -> Listing[T]:
        """List all objects, page by page; without a namespace, in all namespaces."""
        listing: Listing[T] = Listing()
        selected = selectors(label_selector, field_selector)
        async for page in self.pages(resource, selected, namespace=namespace, limit=limit):
            listing.items += page.items
            listing.unreadable += page.unreadable
            listing.resource_version = page.resource_version
        return listing

    async def pages(
        self, resource: Resource[T], params: Mapping[str, str], *, namespace: str = "", limit: int = PAGE_SIZE
    ) -> AsyncIterator[DecodedPage[T]]:
        """List in pages of `limit` objects, all at the same resource version; 0 requests everything at once."""
        path = resource.path(namespace=namespace)
        query = {**params, "limit": str(limit)} if limit else dict(params)
        while True:
            page = _page(resource, await self.request("GET", path, params=query))
            yield page
            if not page.continuation:
                return
            query["continue"] = page.continuation

    async def create(
        self, resource: Resource[T], body: Mapping[str, Any] | msgspec.Struct, *, namespace: str = ""
    ) -> T:
        document = msgspec.to_builtins(body) if isinstance(body, msgspec.Struct) else body
        document = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
        where = namespace or document.get("metadata", {}).get("namespace", "")
        path = resource.path(namespace=self._namespace(resource, where))
        return _typed(
            resource, await self.request("POST", path, params=_FIELD_MANAGER, body=msgspec.json.encode(document))
        )

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        body: Any,
        *,
        namespace: str = "",
        subresource: str = "",
        kind: PatchKind = PatchKind.MERGE,
        field_manager: str = FIELD_MANAGER,
        force: bool = False,
    ) -> T:
        path = resource.path(namespace=self._namespace(resource, namespace), name=name, subresource=subresource)
        params = {"fieldManager": field_manager, "force": "true"} if force else {"fieldManager": field_manager}
        content = msgspec.json.encode(body)
        return _typed(resource, await self.request("PATCH", path, params=params, body=content, content_type=kind.value))

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        grace_period: int | None = None,
        propagation: str = "",
    ) -> None:
        path = resource.path(namespace=self._namespace(resource, namespace), name=name)
        options = delete_options(uid, resource_version, grace_period, propagation)
        await self.request("DELETE", path, body=msgspec.json.encode(options))

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        *,
        annotations: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Bind the pod with this uid to a node; annotations and labels reach the pod in the same write."""
        metadata = {"name": name, "namespace": namespace, "uid": uid, "annotations": annotations, "labels": labels}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": _without_absent(metadata),
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.request(
            "POST", _pod_path(namespace, name, "binding"), params=_FIELD_MANAGER, body=msgspec.json.encode(binding)
        )

    async def evict(self, namespace: str, name: str, uid: str, *, grace_period: int | None = None) -> None:
        """Evict the pod with this uid, subject to its disruption budget (429 when the budget is exhausted)."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": delete_options(uid, "", grace_period, ""),
        }
        await self.request("POST", _pod_path(namespace, name, "eviction"), body=msgspec.json.encode(eviction))

    def _namespace(self, resource: Resource[T], namespace: str) -> str:
        """The namespace of a request: none for cluster-scoped kinds, the connection's default unless specified."""
        return (namespace or self.connection.namespace) if resource.namespaced else ""


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """Query parameters for label and field selectors."""
    return _without_absent({"labelSelector": label_selector, "fieldSelector": field_selector})


def delete_options(uid: str, resource_version: str, grace_period: int | None, propagation: str) -> dict[str, Any]:
    """Build DeleteOptions; the preconditions make sure that only the expected object is deleted."""
    preconditions = _without_absent({"uid": uid, "resourceVersion": resource_version})
    options = {"preconditions": preconditions, "propagationPolicy": propagation}
    grace = {} if grace_period is None else {"gracePeriodSeconds": grace_period}
    return {"apiVersion": "v1", "kind": "DeleteOptions", **_without_absent(options), **grace}


_FIELD_MANAGER = {"fieldManager": FIELD_MANAGER}


def _without_absent(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _pod_path(namespace: str, name: str, subresource: str) -> str:
    return PODS.path(namespace=namespace, name=name, subresource=subresource)


def _typed(resource: Resource[T], answer: bytes) -> T:
    """Decode a response. An unreadable response leaves the outcome of the request unknown."""
    try:
        return decode_object(resource, answer)
    except (ObjectError, msgspec.DecodeError) as error:
        raise Unreachable(f"{resource.name}: unreadable response: {error}", sent=True) from None


def _page(resource: Resource[T], answer: bytes) -> DecodedPage[T]:
    try:
        return decode_page(resource, answer)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{resource.name}: the response is not a list: {error}", sent=True) from None
