"""The certificate of the webhook, from files that are read again when they change.

A context of its own is made for every pair of files that fits together, and connections that come later get the newest:
there is no moment at which a new certificate stands beside an old key.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

RELOAD_INTERVAL = 1.0
"""How often the files are looked at, in seconds."""

_log = logging.getLogger("stromboli.admission")

Signature = tuple[tuple[int, int, int], ...]


class InvalidCertificate(ValueError):
    """Files that make no certificate; the message says which and why."""


class Certificate:
    """Where client certificates are wanted, `client_authority` is who must have signed them; empty for nobody asks."""

    def __init__(
        self,
        certificate: str,
        key: str,
        client_authority: str = "",
        told: Callable[[str], None] = lambda result: None,
    ) -> None:
        """`told` hears how each change of the files ended: `accepted` or `refused`. Raises UnusableCertificate."""
        self._files = tuple(Path(file) for file in (certificate, key, client_authority) if file)
        self._certificate, self._key, self._client_authority = certificate, key, client_authority
        self._told = told
        self._signature = self._look()
        self._newest = self._load()
        #: What to listen with. It hands every connection on to the newest.
        self.context = self._load()
        self.context.sni_callback = self._hand_on

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_INTERVAL)
            self.refresh()

    def refresh(self) -> None:
        """Read the files again if they have changed. What cannot be used leaves everything as it was."""
        signature = self._look()
        if signature == self._signature:
            return
        try:
            self._newest = self._load()
        except InvalidCertificate as error:
            _log.error("the certificate cannot be used; the last good one stays: %s", error)
            self._told("refused")
        else:
            _log.info("the certificate is in use", extra={"file": self._certificate})
            self._told("accepted")
        self._signature = signature

    def _look(self) -> Signature:
        return tuple(_signature_of(file) for file in self._files)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
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
        return context

    def _hand_on(self, connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        connection.context = self._newest


def _signature_of(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _reason(error: Exception) -> str:
    """OpenSSL names a file that it cannot use by a word in capitals."""
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "").replace("_", " ").lower()
        return f"they cannot be used: {reason or 'they hold no certificate and key in PEM'}"
    return getattr(error, "strerror", None) or str(error)
