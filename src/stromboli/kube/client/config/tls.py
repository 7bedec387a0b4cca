"""TLS contexts: trusted authorities and the client certificate.

Python loads a private key only from a file, so inline keys are written to a private temporary file while they are
loaded.
"""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trust:
    """The trusted certificate authorities; without any, those of the system's trust store."""

    authorities: bytes = b""
    insecure: bool = False

    def context(self) -> ssl.SSLContext:
        """Build the context. Raises ValueError if the authorities are not certificates."""
        try:
            context = ssl.create_default_context(cadata=self.authorities.decode("ascii") or None)
        except (ssl.SSLError, UnicodeDecodeError, ValueError):
            raise ValueError("is not a certificate in PEM form") from None
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def with_certificate(self, certificate: bytes, key: bytes) -> ssl.SSLContext:
        """Build a context with a client certificate. Raises ValueError if certificate and key do not match."""
        context = self.context()
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            try:
                context.load_cert_chain(file.name)
            except ssl.SSLError:
                raise ValueError("certificate and key are not a matching pair in PEM form") from None
        return context
