"""Connections to external services: address, TLS and credentials."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import Anonymous, Credentials, basic
from stromboli.kube.client.config.proxies import proxy_from_environment
from stromboli.kube.client.config.tls import Trust
from stromboli.kube.client.transport import Transport

#: Size limit of files with certificates, keys and passwords.
_MAX_FILE_SIZE = 1 << 20


class EndpointError(ValueError):
    """The connection settings are unusable; the message names the file or address and the reason."""


@dataclass(frozen=True, slots=True)
class ExternalEndpoint:
    """The address of an external service. Certificates, keys and passwords are named by their files."""

    address: str
    authorities: str = ""
    insecure: bool = False
    certificate: str = ""
    key: str = ""
    username: str = ""
    password: str = ""
    password_file: str = ""


def transport_to(endpoint: ExternalEndpoint, *, timeout: float, max_size: int) -> Transport:
    """Build the transport to an endpoint. Raises EndpointError if its files cannot be read."""
    connection = Connection(
        server=endpoint.address,
        ssl=_context(endpoint) if endpoint.address.startswith("https://") else None,
        credentials=_credentials(endpoint),
        proxy=proxy_from_environment(endpoint.address),
    )
    return Transport(connection, timeout=timeout, max_response_size=max_size)


def _context(endpoint: ExternalEndpoint) -> ssl.SSLContext:
    trust = Trust(_content(endpoint.authorities) if endpoint.authorities else b"", endpoint.insecure)
    try:
        if endpoint.certificate:
            return trust.with_certificate(
                _content(endpoint.certificate), _content(endpoint.key or endpoint.certificate)
            )
        return trust.context()
    except ValueError as error:
        raise EndpointError(f"{endpoint.certificate or endpoint.authorities}: {error}") from None


def _credentials(endpoint: ExternalEndpoint) -> Credentials:
    if not endpoint.username:
        return Anonymous()
    password = _content(endpoint.password_file).decode("utf-8", "replace").strip() if endpoint.password_file else ""
    return basic(endpoint.username, password or endpoint.password)


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MAX_FILE_SIZE)
    except OSError as error:
        raise EndpointError(f"{path}: {error.strerror or error}") from None
