"""Credentials of API requests.

Credentials expire: the kubelet replaces the token of a pod, the token of a plugin ends. They are therefore read for
every request, reloaded from their source once a minute, and renewed after a 401 (`renew`).
"""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

RELOAD_SECONDS = 60.0
_NO_HEADERS: Mapping[str, str] = {}


class CredentialsProblem(ValueError):
    """Unusable credentials: the message names their source and a remedy."""


class Credentials(Protocol):
    """Authentication by headers, by a client certificate, or both."""

    async def headers(self) -> Mapping[str, str]:
        """Return the headers of a request. Raises CredentialsProblem."""
        ...

    async def renew(self) -> bool:
        """Reload after a 401; return whether the credentials changed."""
        ...

    def certificate(self) -> ssl.SSLContext | None:
        """The TLS context with the client certificate if it can change; None to use the connection's own context."""
        ...


class Anonymous:
    """No headers; also for clients whose only credential is a certificate in the connection's context."""

    async def headers(self) -> Mapping[str, str]:
        return _NO_HEADERS

    async def renew(self) -> bool:
        return False

    def certificate(self) -> ssl.SSLContext | None:
        return None


class Combined:
    """A header and a certificate from different sources."""

    def __init__(self, *parts: Credentials) -> None:
        self._parts = parts

    async def headers(self) -> Mapping[str, str]:
        return {name: value for part in self._parts for name, value in (await part.headers()).items()}

    async def renew(self) -> bool:
        return any([await part.renew() for part in self._parts])

    def certificate(self) -> ssl.SSLContext | None:
        return next((context for part in self._parts if (context := part.certificate())), None)


class StaticCertificate(Anonymous):
    """A client certificate that does not change during the life of the process."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def certificate(self) -> ssl.SSLContext | None:
        return self._context


class StaticHeader(Anonymous):
    """A header that does not change during the life of the process."""

    def __init__(self, authorization: str) -> None:
        self._headers = {"Authorization": authorization}

    async def headers(self) -> Mapping[str, str]:
        return self._headers


def static_token(token: str) -> StaticHeader:
    return StaticHeader(f"Bearer {token}")


def basic(username: str, password: str) -> StaticHeader:
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return StaticHeader(f"Basic {pair}")


class TokenFile(Anonymous):
    """A token file that is rotated: read once a minute, and after a 401."""

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._read_at = float("-inf")
        self._token = ""

    async def headers(self) -> Mapping[str, str]:
        if self._clock() - self._read_at >= RELOAD_SECONDS:
            self._read()
        return {"Authorization": f"Bearer {self._token}"}

    async def renew(self) -> bool:
        before = self._token
        self._read()
        return self._token != before

    def _read(self) -> None:
        """Read the token; an unreadable file keeps the previous token, which may still be valid."""
        self._read_at = self._clock()
        try:
            token = Path(self._path).read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            if self._token:
                return
            raise CredentialsProblem(f"token file {self._path}: {error}; check the path") from None
        if not token and not self._token:
            raise CredentialsProblem(f"token file {self._path}: is empty; write a token to it")
        self._token = token or self._token


class CertificateFiles(Anonymous):
    """A client certificate in files that are rotated."""

    def __init__(
        self,
        files: tuple[str, str],
        context_for: Callable[[bytes, bytes], ssl.SSLContext],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._context_for = context_for
        self._clock = clock
        self._pair = self._read()
        self._context = context_for(*self._pair)
        self._read_at = clock()

    async def headers(self) -> Mapping[str, str]:
        if self._clock() - self._read_at >= RELOAD_SECONDS:
            await self.renew()
        return _NO_HEADERS

    async def renew(self) -> bool:
        self._read_at = self._clock()
        try:
            pair = self._read()
            if pair == self._pair:
                return False
            self._context = self._context_for(*pair)
        except (CredentialsProblem, ValueError):
            return False
        self._pair = pair
        return True

    def certificate(self) -> ssl.SSLContext | None:
        return self._context

    def _read(self) -> tuple[bytes, bytes]:
        try:
            certificate, key = (Path(file).read_bytes() for file in self._files)
        except OSError as error:
            raise CredentialsProblem(f"client certificate: {error}; check the paths") from None
        return certificate, key
