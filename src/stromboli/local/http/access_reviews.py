"""Access reviews. The holder of the token may do everything, so all are allowed."""

from __future__ import annotations

from stromboli.local.api_server.store import Object

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
