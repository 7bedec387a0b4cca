"""API verbs: from a call and its body to the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.local.api_server.access_reviews import AccessRules
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.deletion import DeleteOptions
from stromboli.local.api_server.errors import (
    StatusError,
    bad_request,
    details_of,
    method_not_allowed,
    no_such_path,
    success,
    unrecognized,
)
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.selectors import Matcher, matcher
from stromboli.local.api_server.store import Object, StoreEntry, encode
from stromboli.local.api_server.versions import collection_of, served_form
from stromboli.local.api_server.watches import StoreWatch
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.http.bodies import APPLY_PATCH, applied_configuration, decoded, patched
from stromboli.local.http.calls import ApiCall
from stromboli.local.http.query_options import check_options
from stromboli.local.http.representations import WholeForm, form_of
from stromboli.local.kinds.pods.bindings import bind
from stromboli.local.kinds.scales import scale_of, with_scale

#: Verbs of subresources that are not simply read and written.
_PART_VERBS = {
    "binding": ("create",),
    "eviction": ("create",),
    "log": ("get",),
    **dict.fromkeys(("exec", "attach", "portforward"), ("create", "get")),
}
_ORDINARY_PART_VERBS = ("get", "patch", "update")
#: Kinds whose deletion returns the last state instead of a Status.
_SHOWN_WHEN_DELETED = frozenset(
    {
        "pods", "services", "serviceaccounts", "podtemplates", "namespaces", "persistentvolumeclaims",
        "persistentvolumes", "resourcequotas", "storageclasses", "csinodes", "csidrivers", "volumeattachments",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    #: Warnings for the client.
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A call with its requested representation and its body."""

    call: ApiCall
    resource: ServedResource
    accept: str
    content_type: str
    body: bytes
    agent: str = ""

    def options(self, *, is_applied: bool = False) -> WriteOptions:
        query = self.call.query
        return WriteOptions(
            dry_run=self.call.dry_run,
            manager=query.get("fieldManager") or self.agent.partition("/")[0] or "unknown",
            subresource=self.call.subresource,
            field_validation=query.get("fieldValidation", ""),
            is_applied=is_applied,
            is_patched=self.call.verb == "patch",
        )


class Api:
    """Handles calls on resources."""

    def __init__(self, plane: ControlPlane, access: AccessRules | None = None) -> None:
        self._plane = plane
        self._access = access or AccessRules(plane.store)
        self._verbs = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def resource(self, call: ApiCall) -> ServedResource:
        """Find the resource of a call; reject unknown resources and unsupported verbs."""
        resource = self._plane.registry.find(call.group, call.version, call.plural)
        if resource is None or (call.namespace and not resource.namespaced):
            raise no_such_path()
        if call.subresource and call.subresource not in resource.subresources:
            raise no_such_path()
        if call.verb not in _allowed(resource, call) or (call.verb == "create" and call.name and not call.subresource):
            raise method_not_allowed(call.verb)
        if resource.namespaced and not call.namespace and (call.name or call.verb in ("create", "deletecollection")):
            raise method_not_allowed(call.verb)
        return resource

    def answer(self, request: ResourceRequest) -> Reply:
        """Handle everything except watches."""
        call = request.call
        check_options(call, is_apply=request.content_type == APPLY_PATCH)
        if call.verb == "create" and call.name:
            return self._act(request)
        serve = self._verbs.get(call.verb)
        if serve is None:
            raise method_not_allowed(call.verb)
        return serve(request)

    def watch(self, request: ResourceRequest) -> StoreWatch:
        check_options(request.call, is_apply=False)
        form = self._form(request)
        return StoreWatch(self._plane.store, form, request.call, self._matcher(request))

    def _form(self, request: ResourceRequest) -> WholeForm:
        collection = collection_of(self._plane.store, request.resource)
        return form_of(request.resource, collection, request.accept, request.call.query.get("includeObject", ""))

    def _matcher(self, request: ResourceRequest) -> Matcher | None:
        query = request.call.query
        if request.call.name:
            query = {**query, "fieldSelector": f"metadata.name={request.call.name}"}
        return matcher(request.resource, query, request.resource.selectable_fields)

    def _entry(self, request: ResourceRequest) -> StoreEntry:
        return self._plane.writes.existing(request.resource, request.call.namespace, request.call.name)

    def _shown(
        self, request: ResourceRequest, entry: StoreEntry, status: int = 200, warnings: Sequence[str] = ()
    ) -> Reply:
        return Reply(status, self._form(request).one(entry), warnings=warnings)

    def _get(self, request: ResourceRequest) -> Reply:
        entry = self._entry(request)
        if request.call.subresource == "scale":
            return Reply(200, encode(scale_of(request.resource, entry.body)))
        if request.call.subresource not in ("", "status"):
            raise _not_simulated(request.call)
        return self._shown(request, entry)

    def _list(self, request: ResourceRequest) -> Reply:
        form = self._form(request)
        page = self._plane.lists.page(form.collection, request.call, self._matcher(request))
        return Reply(200, form.many(page.entries, page.metadata()))

    def _create(self, request: ResourceRequest) -> Reply:
        body = decoded(request.body, request.content_type)
        if request.resource.kind == "Binding":
            return self._bind(request, _object(request.resource, body))
        if "list" not in request.resource.verbs:
            return Reply(201, encode(self._access.reviewed(request.resource.plural, _object(request.resource, body))))
        document, options = _object(request.resource, body), request.options()
        entry = self._plane.writes.create(request.resource, request.call.namespace, document, options)
        return self._shown(request, entry, 201, options.warnings)

    def _bind(self, request: ResourceRequest, binding: Object) -> Reply:
        """Bind through the `bindings` collection, where only the body names the pod."""
        pods = self._plane.registry.named("", "v1", "pods")
        name = str((binding.get("metadata") or {}).get("name") or "")
        if not name:
            raise bad_request("Name parameter required.")
        entry = self._plane.writes.existing(pods, request.call.namespace, name)
        bind(self._plane.store, self._plane.writes, pods, entry, binding, request.options())
        return Reply(201, encode(success(201)))

    def _act(self, request: ResourceRequest) -> Reply:
        """Handle a POST to a subresource of a pod: an action."""
        entry = self._entry(request)
        if request.call.subresource not in ("binding", "eviction"):
            raise _not_simulated(request.call)
        body = decoded(request.body, request.content_type)
        if request.call.subresource == "binding":
            bind(self._plane.store, self._plane.writes, request.resource, entry, body, request.options())
        else:
            self._plane.evictions.evict(request.resource, entry, body, request.call.dry_run)
        return Reply(201, encode(success(201)))

    def _update(self, request: ResourceRequest) -> Reply:
        body = _object(request.resource, decoded(request.body, request.content_type))
        if request.call.subresource == "scale":
            return self._scale(request, body)
        options = request.options()
        entry = self._plane.writes.update(request.resource, self._entry(request), body, options)
        return self._shown(request, entry, warnings=options.warnings)

    def _scale(self, request: ResourceRequest, scale: Object) -> Reply:
        entry = self._entry(request)
        body = with_scale(request.resource, entry.body, scale)
        changed = self._plane.writes.update(request.resource, entry, body, request.options())
        return Reply(200, encode(scale_of(request.resource, changed.body)))

    def _patch(self, request: ResourceRequest) -> Reply:
        if request.call.subresource == "scale":
            found = scale_of(request.resource, self._entry(request).body)
            return self._scale(
                request, patched(request.resource, request.call.name, found, request.body, request.content_type)
            )
        if request.content_type == APPLY_PATCH:
            entry, is_new = self._plane.applies.apply(
                request.resource, request.call, applied_configuration(request.body), request.options(is_applied=True)
            )
            return self._shown(request, entry, 201 if is_new else 200)
        entry = self._entry(request)
        collection = collection_of(self._plane.store, request.resource)
        found = served_form(request.resource, collection, entry.body)
        result = patched(request.resource, request.call.name, found, request.body, request.content_type)
        options = request.options()
        changed = self._plane.writes.update(request.resource, entry, result, options)
        return self._shown(request, changed, warnings=options.warnings)

    def _delete(self, request: ResourceRequest) -> Reply:
        entry = self._entry(request)
        options = DeleteOptions.parse(decoded(request.body, request.content_type), request.call.query)
        last, is_gone = self._plane.delete(request.resource, entry, options)
        if is_gone and request.resource.plural not in _SHOWN_WHEN_DELETED:
            details = {**details_of(request.resource, request.call.name), "uid": last.metadata["uid"]}
            return Reply(200, encode(success(200, details)))
        return self._shown(request, last)

    def _delete_collection(self, request: ResourceRequest) -> Reply:
        form, options = (
            self._form(request),
            DeleteOptions.parse(decoded(request.body, request.content_type), request.call.query),
        )
        page = self._plane.lists.page(form.collection, request.call, self._matcher(request))
        gone = [self._plane.delete(request.resource, entry, options)[0] for entry in page.entries]
        return Reply(200, form.many(gone, page.metadata()))


def _allowed(resource: ServedResource, call: ApiCall) -> tuple[str, ...]:
    return _PART_VERBS.get(call.subresource, _ORDINARY_PART_VERBS) if call.subresource else resource.verbs


def _not_simulated(call: ApiCall) -> StatusError:
    return StatusError(501, "NotImplemented", f"there is no {call.subresource} in a simulated cluster")


def _object(resource: ServedResource, body: Any) -> Object:
    if not isinstance(body, dict):
        raise unrecognized(resource, "couldn't get version/kind; json parse error: it is not an object")
    return body
