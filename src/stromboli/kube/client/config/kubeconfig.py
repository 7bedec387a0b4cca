"""Connections from kubeconfig files, with kubectl's rules.

`$KUBECONFIG` may list several files. They are merged: of two entries with the same name the one in the earlier file
counts, and the first file with a current context decides it. Relative paths are relative to their file. Errors name the
file, the field and a remedy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stromboli.kube.client.config.connection import Connection, ConnectionProblem
from stromboli.kube.client.config.credentials import (
    Anonymous,
    CertificateFiles,
    Combined,
    Credentials,
    CredentialsProblem,
    StaticCertificate,
    TokenFile,
    basic,
    static_token,
)
from stromboli.kube.client.config.exec_plugin import exec_plugin
from stromboli.kube.client.config.kubeconfig_entries import KubeconfigEntry
from stromboli.kube.client.config.proxies import proxy_for
from stromboli.kube.client.config.tls import Trust
from stromboli.kube.manifests.errors import path_problem
from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.manifests.yaml_errors import YamlError

_KINDS = {"clusters": "cluster", "users": "user", "contexts": "context"}


def load_kubeconfig(path: str | None = None, context: str | None = None) -> Connection:
    """Load the connection of a context, by default the current one. Raises ConnectionProblem."""
    config = _Kubeconfig.read(_paths(path))
    chosen, cluster = config.cluster_of(context)
    user_name = chosen.text("user")
    user = config.find("users", user_name) if user_name else KubeconfigEntry(chosen.source, "user", {})
    return _connection(cluster, user, chosen.text("namespace") or "default")


def cluster_extension(name: str, path: str | None = None, context: str | None = None) -> Mapping[str, Any]:
    """Return what a tool noted about the cluster of a context under this name; empty without a note. Raises
    ConnectionProblem.
    """
    _, cluster = _Kubeconfig.read(_paths(path)).cluster_of(context)
    listed = cluster.fields.get("extensions")
    for each in listed if isinstance(listed, list) else ():
        found = each.get("extension") if isinstance(each, Mapping) and each.get("name") == name else None
        if isinstance(found, Mapping):
            return found
    return {}


def kubeconfig_exists() -> bool:
    """Report whether a kubeconfig file exists at the default paths."""
    return any(Path(path).is_file() for path in _paths(None))


def _connection(cluster: KubeconfigEntry, user: KubeconfigEntry, namespace: str) -> Connection:
    server = _server(cluster)
    trust = Trust(cluster.content("certificate-authority"), cluster.flag("insecure-skip-tls-verify"))
    context = cluster.checked("certificate-authority-data", trust.context) if server.startswith("https:") else None
    return Connection(
        server=server,
        ssl=context,
        credentials=credentials_of(user, cluster, trust),
        proxy=proxy_for(server, cluster),
        namespace=namespace,
        server_name=cluster.text("tls-server-name"),
    )


def _server(cluster: KubeconfigEntry) -> str:
    server = cluster.text("server", required=True)
    if not server.startswith(("https://", "http://")):
        raise cluster.problem("server", f"{server!r} is not an address", "write one such as https://10.0.0.1:6443")
    return server.rstrip("/")


def _paths(path: str | None) -> list[str]:
    if path:
        return [path]
    listed = [entry for entry in os.environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    return listed or [str(Path.home() / ".kube" / "config")]


@dataclass(slots=True)
class _Kubeconfig:
    """All files, merged."""

    source: str
    current_context: str = ""
    entries: dict[tuple[str, str], KubeconfigEntry] = field(default_factory=dict)

    @classmethod
    def read(cls, paths: list[str]) -> _Kubeconfig:
        """Read the files that exist; at least one must."""
        present = [path for path in paths if Path(path).exists()]
        if not present:
            missing = '", "'.join(paths)
            raise ConnectionProblem(f'the path "{missing}" does not exist; set KUBECONFIG or name a kubeconfig file')
        config = cls(", ".join(present))
        for path in present:
            config.add(path, _document(path))
        return config

    def add(self, path: str, document: Mapping[str, Any]) -> None:
        current = document.get("current-context")
        if isinstance(current, str) and current and not self.current_context:
            self.current_context = current
        for section, kind in _KINDS.items():
            for name, fields in _named_entries(path, section, kind, document.get(section)):
                self.entries.setdefault((section, name), KubeconfigEntry(path, f"{kind} {name!r}", fields))

    def cluster_of(self, context: str | None) -> tuple[KubeconfigEntry, KubeconfigEntry]:
        """Return a context, by default the current one, and its cluster."""
        name = context or self.current_context
        if not name:
            raise ConnectionProblem(f"{self.source}: current-context is missing; name a context")
        chosen = self.find("contexts", name)
        return chosen, self.find("clusters", chosen.text("cluster", required=True))

    def find(self, section: str, name: str) -> KubeconfigEntry:
        found = self.entries.get((section, name))
        if found is None:
            known = ", ".join(sorted(repr(other) for kind, other in self.entries if kind == section)) or "none"
            raise ConnectionProblem(f"{self.source}: no {_KINDS[section]} {name!r}; known: {known}")
        return found


def _document(path: str) -> Mapping[str, Any]:
    try:
        documents = load_documents(Path(path).read_text(encoding="utf-8-sig"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectionProblem(path_problem(path, error)) from None
    except YamlError as error:
        raise ConnectionProblem(str(error)) from None
    document = documents[0] if documents else {}
    if not isinstance(document, Mapping):
        raise ConnectionProblem(f"{path}: is not a kubeconfig; name another file")
    return document


def _named_entries(path: str, section: str, kind: str, listed: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if listed is None:
        return
    if not isinstance(listed, list):
        raise ConnectionProblem(f"{path}: {section}: expected a list; write one {kind} per dash")
    for number, item in enumerate(listed):
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            raise ConnectionProblem(f"{path}: {section}[{number}]: name is missing; write name and {kind}")
        fields = item.get(kind)
        yield name, fields if isinstance(fields, Mapping) else {}


def credentials_of(user: KubeconfigEntry, cluster: KubeconfigEntry, trust: Trust) -> Credentials:
    """Build the credentials of a user. Raises ConnectionProblem for unsupported entries."""
    if user.fields.get("auth-provider") is not None:
        raise user.problem(
            "auth-provider", "is not supported", "use an exec plugin instead, as kubectl does since 1.26"
        )
    parts = [*_headers(user, cluster, trust), *_certificate(user, trust)]
    if not parts:
        return Anonymous()
    return parts[0] if len(parts) == 1 else Combined(*parts)


def _headers(user: KubeconfigEntry, cluster: KubeconfigEntry, trust: Trust) -> Iterator[Credentials]:
    """At most one: a token file has precedence over a token, a password and an exec plugin, in this order."""
    if path := user.file("tokenFile"):
        yield TokenFile(path)
    elif token := user.text("token"):
        yield static_token(token)
    elif username := user.text("username"):
        yield basic(username, user.text("password"))
    elif plugin := user.part("exec"):
        yield exec_plugin(plugin, cluster, trust)


def _certificate(user: KubeconfigEntry, trust: Trust) -> Iterator[Credentials]:
    """The client certificate: files are reloaded when they change, inline data is not."""
    certificate, key = user.content("client-certificate"), user.content("client-key")
    if not certificate and not key:
        return
    if not certificate or not key:
        missing = "client-key" if certificate else "client-certificate"
        raise user.problem(missing, "is missing", "write both client-certificate and client-key")
    context = user.checked("client-certificate", lambda: trust.with_certificate(certificate, key))
    if user.text("client-certificate-data") or user.text("client-key-data"):
        yield StaticCertificate(context)
        return
    files = (user.file("client-certificate"), user.file("client-key"))
    try:
        yield CertificateFiles(files, trust.with_certificate)
    except CredentialsProblem as error:
        raise user.problem("client-certificate", str(error), "check the path") from None
