"""Who we believe, and the certificate we show: contexts for encrypted connections.

The library of Python loads a private key from a file only, so a key that is given as text is written to a file that
nobody else can read, for the moment it takes to load it.
"""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trust:
    """Which servers are believed. Without authorities of our own, those that the system knows."""

    authorities: bytes = b""
    insecure: bool = False

    def context(self) -> ssl.SSLContext:
        """Raises ValueError if the authorities are no certificates."""
        try:
            context = ssl.create_default_context(cadata=self.authorities.decode("ascii") or None)
        except (ssl.SSLError, UnicodeDecodeError, ValueError):
            raise ValueError("is no certificate in PEM form") from None
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def with_certificate(self, certificate: bytes, key: bytes) -> ssl.SSLContext:
        """The context that also shows who we are. Raises ValueError if certificate and key are no pair."""
        context = self.context()
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            try:
                context.load_cert_chain(file.name)
            except ssl.SSLError:
                raise ValueError("certificate and key are no pair in PEM form") from None
        return context
