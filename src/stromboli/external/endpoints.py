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


def transport_to(place: ExternalEndpoint, *, timeout: float, largest: int) -> Transport:
    """Build the transport to an endpoint. Raises EndpointError if its files cannot be read."""
    connection = Connection(
        server=place.address,
        ssl=_context(place) if place.address.startswith("https://") else None,
        credentials=_credentials(place),
        proxy=proxy_from_environment(place.address),
    )
    return Transport(connection, timeout=timeout, largest_answer=largest)


def _context(place: ExternalEndpoint) -> ssl.SSLContext:
    trust = Trust(_content(place.authorities) if place.authorities else b"", place.insecure)
    try:
        if place.certificate:
            return trust.with_certificate(_content(place.certificate), _content(place.key or place.certificate))
        return trust.context()
    except ValueError as error:
        raise EndpointError(f"{place.certificate or place.authorities}: {error}") from None


def _credentials(place: ExternalEndpoint) -> Credentials:
    if not place.username:
        return Anonymous()
    password = _content(place.password_file).decode("utf-8", "replace").strip() if place.password_file else ""
    return basic(place.username, password or place.password)


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MAX_FILE_SIZE)
    except OSError as error:
        raise EndpointError(f"{path}: {error.strerror or error}") from None
