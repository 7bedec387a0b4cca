"""API verbs: from a call and its body to the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
_PART_VERBS = {"binding": ("create",), "eviction": ("create",), "log": ("get",)}
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
class Asked:
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

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
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

    def answer(self, asked: Asked) -> Reply:
        """Handle everything except watches."""
        call = asked.call
        check_options(call, is_apply=asked.content_type == APPLY_PATCH)
        if call.verb == "create" and call.name:
            return self._act(asked)
        serve = self._verbs.get(call.verb)
        if serve is None:
            raise method_not_allowed(call.verb)
        return serve(asked)

    def watch(self, asked: Asked) -> StoreWatch:
        check_options(asked.call, is_apply=False)
        form = self._form(asked)
        return StoreWatch(self._plane.store, form, asked.call, self._matcher(asked))

    def _form(self, asked: Asked) -> WholeForm:
        collection = collection_of(self._plane.store, asked.resource)
        return form_of(asked.resource, collection, asked.accept, asked.call.query.get("includeObject", ""))

    def _matcher(self, asked: Asked) -> Matcher | None:
        query = asked.call.query
        if asked.call.name:
            query = {**query, "fieldSelector": f"metadata.name={asked.call.name}"}
        return matcher(asked.resource, query, asked.resource.selectable_fields)

    def _entry(self, asked: Asked) -> StoreEntry:
        return self._plane.writes.existing(asked.resource, asked.call.namespace, asked.call.name)

    def _shown(self, asked: Asked, entry: StoreEntry, status: int = 200, warnings: Sequence[str] = ()) -> Reply:
        return Reply(status, self._form(asked).one(entry), warnings=warnings)

    def _get(self, asked: Asked) -> Reply:
        entry = self._entry(asked)
        if asked.call.subresource == "scale":
            return Reply(200, encode(scale_of(asked.resource, entry.body)))
        if asked.call.subresource not in ("", "status"):
            raise StatusError(501, "NotImplemented", f"there is no {asked.call.subresource} in a simulated cluster")
        return self._shown(asked, entry)

    def _list(self, asked: Asked) -> Reply:
        form = self._form(asked)
        page = self._plane.lists.page(form.collection, asked.call, self._matcher(asked))
        return Reply(200, form.many(page.entries, page.metadata()))

    def _create(self, asked: Asked) -> Reply:
        body = decoded(asked.body, asked.content_type)
        if asked.resource.kind == "Binding":
            return self._bind(asked, _object(asked.resource, body))
        if "list" not in asked.resource.verbs:
            return Reply(201, encode(reviewed(asked.resource.plural, _object(asked.resource, body))))
        given, options = _object(asked.resource, body), asked.options()
        entry = self._plane.writes.create(asked.resource, asked.call.namespace, given, options)
        return self._shown(asked, entry, 201, options.warnings)

    def _bind(self, asked: Asked, binding: Object) -> Reply:
        """Bind through the `bindings` collection, where only the body names the pod."""
        pods = self._plane.registry.named("", "v1", "pods")
        name = str((binding.get("metadata") or {}).get("name") or "")
        if not name:
            raise bad_request("Name parameter required.")
        entry = self._plane.writes.existing(pods, asked.call.namespace, name)
        bind(self._plane.store, self._plane.writes, pods, entry, binding, asked.options())
        return Reply(201, encode(success(201)))

    def _act(self, asked: Asked) -> Reply:
        """Handle a POST to a subresource of a pod: an action."""
        entry = self._entry(asked)
        body = decoded(asked.body, asked.content_type)
        if asked.call.subresource == "binding":
            bind(self._plane.store, self._plane.writes, asked.resource, entry, body, asked.options())
        elif asked.call.subresource == "eviction":
            self._plane.evictions.evict(asked.resource, entry, body, asked.call.dry_run)
        else:
            raise method_not_allowed(asked.call.verb)
        return Reply(201, encode(success(201)))

    def _update(self, asked: Asked) -> Reply:
        body = _object(asked.resource, decoded(asked.body, asked.content_type))
        if asked.call.subresource == "scale":
            return self._scale(asked, body)
        options = asked.options()
        entry = self._plane.writes.update(asked.resource, self._entry(asked), body, options)
        return self._shown(asked, entry, warnings=options.warnings)

    def _scale(self, asked: Asked, scale: Object) -> Reply:
        entry = self._entry(asked)
        body = with_scale(asked.resource, entry.body, scale)
        changed = self._plane.writes.update(asked.resource, entry, body, asked.options())
        return Reply(200, encode(scale_of(asked.resource, changed.body)))

    def _patch(self, asked: Asked) -> Reply:
        if asked.call.subresource == "scale":
            found = scale_of(asked.resource, self._entry(asked).body)
            return self._scale(asked, patched(asked.resource, asked.call.name, found, asked.body, asked.content_type))
        if asked.content_type == APPLY_PATCH:
            entry, is_new = self._plane.applies.apply(
                asked.resource,
                asked.call,
                applied_configuration(asked.body),
                asked.options(is_applied=True),
            )
            return self._shown(asked, entry, 201 if is_new else 200)
        entry = self._entry(asked)
        collection = collection_of(self._plane.store, asked.resource)
        found = served_form(asked.resource, collection, entry.body)
        result = patched(asked.resource, asked.call.name, found, asked.body, asked.content_type)
        options = asked.options()
        changed = self._plane.writes.update(asked.resource, entry, result, options)
        return self._shown(asked, changed, warnings=options.warnings)

    def _delete(self, asked: Asked) -> Reply:
        entry = self._entry(asked)
        options = DeleteOptions.parse(decoded(asked.body, asked.content_type), asked.call.query)
        last, is_gone = self._plane.delete(asked.resource, entry, options)
        if is_gone and asked.resource.plural not in _SHOWN_WHEN_DELETED:
            details = {**details_of(asked.resource, asked.call.name), "uid": last.metadata["uid"]}
            return Reply(200, encode(success(200, details)))
        return self._shown(asked, last)

    def _delete_collection(self, asked: Asked) -> Reply:
        form, options = (
            self._form(asked),
            DeleteOptions.parse(decoded(asked.body, asked.content_type), asked.call.query),
        )
        page = self._plane.lists.page(form.collection, asked.call, self._matcher(asked))
        gone = [self._plane.delete(asked.resource, entry, options)[0] for entry in page.entries]
        return Reply(200, form.many(gone, page.metadata()))


def _allowed(resource: ServedResource, call: ApiCall) -> tuple[str, ...]:
    return _PART_VERBS.get(call.subresource, _ORDINARY_PART_VERBS) if call.subresource else resource.verbs


def _object(resource: ServedResource, body: Any) -> Object:
    if not isinstance(body, dict):
        raise unrecognized(resource, "couldn't get version/kind; json parse error: it is not an object")
    return body


USER = "stromboli:admin"
_GROUPS = ["system:masters", "system:authenticated"]
_EVERYTHING: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def reviewed(plural: str, question: Object) -> Object:
    """The review with its status."""
    person = {"username": USER, "groups": _GROUPS}
    match plural:
        case "selfsubjectreviews":
            status: Object = {"userInfo": person}
        case "tokenreviews":
            status = {"authenticated": True, "user": person}
        case "selfsubjectrulesreviews":
            status = _EVERYTHING
        case _:
            status = {"allowed": True}
    return {**question, "metadata": question.get("metadata") or {}, "status": status}
