"""Credentials from the user entry of a kubeconfig."""

from __future__ import annotations

from collections.abc import Iterator

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
from stromboli.kube.client.config.tls import Trust


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
