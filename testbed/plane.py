"""A control plane for tests and benchmarks: its kubeconfigs, and its audit log."""

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
#: A requester is a scheduler that writes bind requests.
REQUESTER = "requester"
#: A person with the role `stromboli-viewer`.
VIEWER = "viewer"
_PROCESSES = ("scheduler", "controller", "binder", "admission", "console", REQUESTER, VIEWER)
#: The service accounts of the processes, by their short names.
ACCOUNTS = {name: f"system:serviceaccount:{NAMESPACE}:stromboli-{name}" for name in _PROCESSES}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of one of these accounts, from the audit log."""

    account: str
    verb: str
    group: str
    #: With the subresource after a slash, as in roles.
    resource: str
    status: int


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The address of the server, and the kubeconfigs of its users."""

    kind: Literal["real", "embedded"]
    kubeconfigs: Mapping[str, Path]
    audit_log: Path | None = None

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.kubeconfigs[ADMINISTRATOR]

    @property
    def url(self) -> str:
        return str(yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])

    def kubeconfig_of(self, account: str) -> Path:
        """The kubeconfig of a process; a server without authorization uses the administrator's for all."""
        return self.kubeconfigs.get(account, self.kubeconfig)

    def asked(self) -> Counter[Asked]:
        """The requests of the accounts so far, and their numbers; empty without an audit log."""
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
    """The status code. An authorized request may still get a 403, as every creation in a terminating namespace does; it
    is reported as a conflict, because no right would help.
    """
    code: int = record.get("responseStatus", {}).get("code", 0)
    is_allowed = record.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
    return 409 if code == 403 and is_allowed else code


def write_kubeconfig(path: Path, url: str, token: str) -> Path:
    """A kubeconfig for a server on the loopback device with a self-signed certificate."""
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
