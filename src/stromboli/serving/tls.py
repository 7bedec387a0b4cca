"""The certificate of a server: from files, which are read again when they change, or made by itself in memory.

Each valid pair of files gets a context of its own, and new connections use the latest: a new certificate is never
combined with an old key.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from stromboli.kube.manifests.errors import path_problem
from stromboli.serving.address import Address

RELOAD_INTERVAL = 1.0
"""Interval between checks of the files, in seconds."""

AUTO, HTTPS, HTTP = "auto", "https", "http"
"""Schemes of an address; `auto` is HTTPS where other machines reach it."""

_log = logging.getLogger("stromboli.serving")

Signature = tuple[tuple[int, int, int], ...]


class InvalidCertificate(ValueError):
    """Unusable certificate files; the message has the reason."""


class Certificate:
    """With `client_authority`, clients must present a certificate signed by it; empty to accept all clients."""

    def __init__(
        self,
        certificate: str,
        key: str,
        client_authority: str = "",
        on_reload: Callable[[str], None] = lambda result: None,
    ) -> None:
        """`on_reload` is called after each change with `accepted` or `refused`. Raises InvalidCertificate."""
        self._files = tuple(Path(file) for file in (certificate, key, client_authority) if file)
        self._certificate, self._key, self._client_authority = certificate, key, client_authority
        self._on_reload = on_reload
        self._trusted: list[str] = []
        self._signature = self._current_signature()
        self._latest = self._load()
        #: The listening context, which hands every connection to the latest context.
        self.context = self._load()
        self.context.sni_callback = self._use_latest

    def trust_clients(self, authorities: str) -> None:
        """Ask clients for a certificate, which they may omit, and verify it against these authorities too."""
        self._trusted.append(authorities)
        for context in (self.context, self._latest):
            trust_clients(context, authorities)

    async def watch(self) -> None:
        """Check the files until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_INTERVAL)
            self.refresh()

    def refresh(self) -> None:
        """Reload the files if they have changed; unusable files leave the current certificate in use."""
        signature = self._current_signature()
        if signature == self._signature:
            return
        try:
            self._latest = self._load()
        except InvalidCertificate as error:
            _log.error("certificate rejected; keeping the last valid one", extra={"error": str(error)})
            self._on_reload("rejected")
        else:
            _log.info("certificate reloaded", extra={"file": self._certificate})
            self._on_reload("accepted")
        self._signature = signature

    def _current_signature(self) -> Signature:
        return tuple(_signature_of(file) for file in self._files)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _check_access(self._files)
        try:
            context.load_cert_chain(self._certificate, self._key)
        except (OSError, ValueError) as error:
            raise InvalidCertificate(f"{self._certificate} and {self._key}: {_reason(error)}") from error
        if self._client_authority:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(self._client_authority)
            except (OSError, ValueError) as error:
                raise InvalidCertificate(f"{self._client_authority}: {_reason(error)}") from error
        for authorities in self._trusted:
            trust_clients(context, authorities)
        return context

    def _use_latest(self, connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        connection.context = self._latest


def trust_clients(context: ssl.SSLContext, authorities: str) -> None:
    """Verify certificates of clients against these authorities, in PEM. Raises ssl.SSLError."""
    context.load_verify_locations(cadata=authorities)
    context.verify_mode = ssl.CERT_OPTIONAL


def _check_access(files: Iterable[Path]) -> None:
    """Name the file that cannot be read; OpenSSL's errors do not."""
    for file in files:
        try:
            file.open("rb").close()
        except OSError as error:
            raise InvalidCertificate(path_problem(str(file), error)) from error


def _signature_of(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _reason(error: Exception) -> str:
    """Format OpenSSL's reason, which is a word in capitals."""
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "").replace("_", " ").lower()
        return f"unusable: {reason or 'no certificate and key in PEM'}"
    return getattr(error, "strerror", None) or str(error)


class SelfSigned:
    """A certificate for this host, signed by an authority that is discarded. Clients cannot verify it."""

    def __init__(self, address: Address) -> None:
        from stromboli.serving.certificates import make_certificates

        hosts = dict.fromkeys(filter(None, (address.host, socket.gethostname(), "localhost", "127.0.0.1")))
        self.context = make_certificates(list(hosts)).server_context()
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2

    def trust_clients(self, authorities: str) -> None:
        """Ask clients for a certificate, which they may omit, and verify it against these authorities too."""
        trust_clients(self.context, authorities)

    async def watch(self) -> None:
        """Wait until cancelled: nothing changes."""
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """How an address is served. Without files, HTTPS uses a certificate in memory."""

    scheme: str = AUTO
    certificate_file: str = ""
    key_file: str = ""

    def certificate(self, address: Address) -> Certificate | SelfSigned | None:
        """Return the certificate for an address; None for plain HTTP. Raises InvalidCertificate."""
        if self.scheme == HTTP or (self.scheme == AUTO and address.is_loopback):
            return None
        if self.certificate_file or self.key_file:
            return Certificate(self.certificate_file, self.key_file)
        return SelfSigned(address)
