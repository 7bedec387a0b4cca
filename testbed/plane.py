"""A control plane as stories and benchmarks see it: who may enter with which kubeconfig, and what was asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

ADMINISTRATOR = "administrator"
NAMESPACE = "stromboli-system"
#: A requester is a scheduler that leaves binding to a binder.
REQUESTER = "requester"
_PROCESSES = ("scheduler", "controller", "binder", "admission", REQUESTER)
#: The accounts of our processes, by their short names.
ACCOUNTS = {name: f"system:serviceaccount:{NAMESPACE}:stromboli-{name}" for name in _PROCESSES}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of one of our accounts, from the audit log."""

    account: str
    verb: str
    group: str
    #: With the part of it behind a slash, as roles name it.
    resource: str
    status: int


#: What our accounts have asked of servers that are gone.
ASKED_BEFORE: set[Asked] = set()


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Where the server is, and the kubeconfigs of those who may use it."""

    kind: Literal["real", "embedded"]
    kubeconfigs: Mapping[str, Path]
    audit_log: Path | None = None

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.kubeconfigs[ADMINISTRATOR]

    @property
    def url(self) -> str:
        return str(yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])

    def kubeconfig_of(self, account: str) -> Path:
        """What a process of ours uses; a server without rights of its own lets everybody in as the administrator."""
        return self.kubeconfigs.get(account, self.kubeconfig)

    def asked(self) -> Counter[Asked]:
        """What our accounts have asked for so far, and how often; nothing where nobody writes it down."""
        if self.audit_log is None or not self.audit_log.exists():
            return Counter()
        accounts = {user: name for name, user in ACCOUNTS.items()}
        with self.audit_log.open("rb") as lines:
            return Counter(_asked(msgspec.json.decode(line), accounts) for line in lines if line.endswith(b"\n"))


def _asked(record: dict[str, Any], accounts: Mapping[str, str]) -> Asked:
    about = record.get("objectRef", {})
    subresource = f"/{about['subresource']}" if "subresource" in about else ""
    return Asked(
        account=accounts[record["user"]["username"]],
        verb=record["verb"],
        group=about.get("apiGroup", ""),
        resource=about.get("resource", "") + subresource,
        status=_answer(record),
    )


def _answer(record: dict[str, Any]) -> int:
    """The status code. What a right allows may still be refused, as every new object of a namespace that is going away
    is; that is told as a conflict, because no right would help.
    """
    code: int = record.get("responseStatus", {}).get("code", 0)
    is_allowed = record.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
    return 409 if code == 403 and is_allowed else code


def write_kubeconfig(path: Path, url: str, token: str) -> Path:
    """A kubeconfig for a server on the loopback device, whose certificate nobody has signed."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": path.name, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": path.name}}],
        "current-context": "testbed",
    }
    path.write_text(yaml.safe_dump(document))
    return path
