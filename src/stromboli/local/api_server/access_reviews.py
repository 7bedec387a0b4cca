"""Reviews of tokens and of access, by the roles and bindings in the store.

The server itself admits its own token only, whose user may do everything. Further tokens have users whose rights are
reviewed, as the processes of an installation do for the people who ask them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stromboli.local.api_server.errors import StatusError
from stromboli.local.api_server.store import Object, Store

USER = "stromboli:admin"
MASTERS = "system:masters"
_GROUP = "rbac.authorization.k8s.io"
_EVERYTHING: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


class AccessRules:
    """Answers reviews. `users` are the names of users by token."""

    def __init__(self, store: Store, users: Mapping[str, str] | None = None) -> None:
        self._store, self._users = store, users or {}

    def reviewed(self, plural: str, question: Object) -> Object:
        """Return the review with its status."""
        spec: Object = question.get("spec") or {}
        match plural:
            case "selfsubjectreviews":
                status: Object = {"userInfo": _person(USER)}
            case "tokenreviews":
                status = self._authentication(str(spec.get("token", "")))
            case "selfsubjectrulesreviews":
                status = _EVERYTHING
            case "selfsubjectaccessreviews":
                status = {"allowed": True}
            case _:
                status = {"allowed": self._allows(spec)}
        return {**question, "metadata": question.get("metadata") or {}, "status": status}

    def _authentication(self, token: str) -> Object:
        user = self._users.get(token)
        if user is None:
            return {"authenticated": False, "user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _person(user)}

    def _allows(self, spec: Object) -> bool:
        user, groups = str(spec.get("user") or ""), set(spec.get("groups") or ())
        if not user and not groups:
            raise StatusError(422, "Invalid", "spec.user: at least one of user or group must be specified")
        if MASTERS in groups or user == USER:
            return True
        asked: Object = spec.get("resourceAttributes") or {}
        if asked:
            rules = self._rules(user, groups, str(asked.get("namespace") or ""))
            return any(_permits(rule, asked) for rule in rules)
        path: Object = spec.get("nonResourceAttributes") or {}
        return any(_permits_path(rule, path) for rule in self._rules(user, groups, ""))

    def _rules(self, user: str, groups: set[str], namespace: str) -> Iterator[Object]:
        """Yield the rules of a user: of the whole cluster, and of a namespace."""
        for binding in self._objects("clusterrolebindings"):
            if _names(binding, user, groups):
                yield from self._rules_of("clusterroles", binding)
        for binding in self._objects("rolebindings", namespace) if namespace else ():
            if _names(binding, user, groups):
                plural = "roles" if binding["roleRef"].get("kind") == "Role" else "clusterroles"
                yield from self._rules_of(plural, binding, namespace)

    def _rules_of(self, plural: str, binding: Object, namespace: str = "") -> Sequence[Object]:
        key = (namespace if plural == "roles" else "", str(binding["roleRef"]["name"]))
        found = self._store.collection(_GROUP, plural).get(key)
        return () if found is None else found.body.get("rules") or ()

    def _objects(self, plural: str, namespace: str = "") -> list[Object]:
        return [entry.body for entry in self._store.collection(_GROUP, plural).entries(namespace)]


def _person(user: str) -> Object:
    return {"username": user, "groups": [*([MASTERS] if user == USER else []), "system:authenticated"]}


def _names(binding: Object, user: str, groups: set[str]) -> bool:
    for subject in binding.get("subjects") or ():
        name = subject.get("name")
        match subject.get("kind"):
            case "User" if name == user:
                return True
            case "Group" if name in groups:
                return True
            case "ServiceAccount" if user == f"system:serviceaccount:{subject.get('namespace')}:{name}":
                return True
    return False


def _permits(rule: Object, asked: Mapping[str, Any]) -> bool:
    resource, part = str(asked.get("resource") or ""), str(asked.get("subresource") or "")
    wanted = [f"{resource}/{part}", f"*/{part}"] if part else [resource]
    names = rule.get("resourceNames") or ()
    return (
        _has(rule, "verbs", [asked.get("verb")])
        and _has(rule, "apiGroups", [asked.get("group") or ""])
        and _has(rule, "resources", wanted)
        and (not names or asked.get("name") in names)
    )


def _permits_path(rule: Object, asked: Mapping[str, Any]) -> bool:
    path = str(asked.get("path") or "")
    return _has(rule, "verbs", [asked.get("verb")]) and any(
        path.startswith(each[:-1]) if each.endswith("*") else path == each for each in rule.get("nonResourceURLs") or ()
    )


def _has(rule: Object, field: str, wanted: Iterable[Any]) -> bool:
    listed = rule.get(field) or ()
    return "*" in listed or any(each in listed for each in wanted)
