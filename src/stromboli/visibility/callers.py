"""Who asks: a person whom the API server has authenticated, or one with a token.

The API server forwards requests of an aggregated API with the name of the person in headers, and proves itself by a
client certificate. Its authority, and the names of the headers, are in a ConfigMap. The headers of other clients count
for nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import msgspec
from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.visibility.reviews import Person, PersonReviews

CONFIGURATION_NAMESPACE, CONFIGURATION = "kube-system", "extension-apiserver-authentication"

_log = logging.getLogger("stromboli.visibility")


class UnknownCaller(Exception):
    """Nothing proves who asks."""


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """How the API server proves itself, and names the people for whom it asks."""

    #: Certificates in PEM; empty if it does not forward requests.
    authorities: str = ""
    #: Common names of its certificate; empty for any.
    names: Sequence[str] = ()
    user_headers: Sequence[str] = ("X-Remote-User",)
    uid_headers: Sequence[str] = ("X-Remote-Uid",)
    group_headers: Sequence[str] = ("X-Remote-Group",)
    extra_prefixes: Sequence[str] = ("X-Remote-Extra-",)

    @classmethod
    def parse(cls, data: Mapping[str, str]) -> FrontProxy:
        """Parse the ConfigMap: lists are JSON. Raises ValueError."""

        def names(key: str, default: Sequence[str]) -> Sequence[str]:
            text = data.get(f"requestheader-{key}", "")
            return tuple(msgspec.json.decode(text, type=list[str])) if text else default

        return cls(
            data.get("requestheader-client-ca-file", ""),
            names("allowed-names", ()),
            names("username-headers", cls().user_headers),
            names("uid-headers", cls().uid_headers),
            names("group-headers", cls().group_headers),
            names("extra-headers-prefix", cls().extra_prefixes),
        )

    def admits(self, certificate: bytes) -> bool:
        """Report whether a client certificate, in DER, is that of the API server."""
        found = x509.load_der_x509_certificate(certificate)
        names = [str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if self.names and not set(names) & set(self.names):
            return False
        return any(_is_issued_by(found, authority) for authority in _certificates(self.authorities))

    def person(self, request: web.BaseRequest) -> Person | None:
        """Return the person in the headers; None without one."""
        headers = request.headers
        name = next((headers[each] for each in self.user_headers if headers.get(each)), "")
        if not name:
            return None
        uid = next((headers[each] for each in self.uid_headers if headers.get(each)), "")
        groups = tuple(value for each in self.group_headers for value in headers.getall(each, ()))
        return Person(name, uid, groups, self._extra(request))

    def _extra(self, request: web.BaseRequest) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, list[str]] = {}
        for header, value in request.headers.items():
            for prefix in self.extra_prefixes:
                if header.lower().startswith(prefix.lower()):
                    found.setdefault(unquote(header[len(prefix) :].lower()), []).append(value)
        return tuple((key, tuple(values)) for key, values in sorted(found.items()))


@lru_cache(maxsize=8)
def _certificates(text: str) -> Sequence[x509.Certificate]:
    return x509.load_pem_x509_certificates(text.encode()) if text else ()


def _is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


async def read_front_proxy(client: Client) -> FrontProxy:
    """Read the ConfigMap. A server without one, or that does not permit it, forwards no requests. Raises
    RequestFailed.
    """
    try:
        found = await client.get(CONFIG_MAPS, CONFIGURATION, namespace=CONFIGURATION_NAMESPACE)
        return FrontProxy.parse(found.data or {})
    except ApiError as error:
        if not (error.is_missing or error.is_denied):
            raise
        _log.warning("the API server forwards no requests", extra={"error": str(error)})
    except (msgspec.DecodeError, ValueError) as error:
        _log.error("configuration of the front proxy rejected", extra={"error": str(error)})
    return FrontProxy()


class Callers:
    """Identifies the people who ask."""

    def __init__(self, reviews: PersonReviews) -> None:
        self._reviews = reviews
        self.proxy = FrontProxy()

    async def person(self, request: web.BaseRequest) -> Person:
        """Return who asks. Raises UnknownCaller, AccessUnavailable."""
        forwarded = self._forwarded(request)
        if forwarded is not None:
            return forwarded
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise UnknownCaller("ask through the API server, or with a bearer token")
        person = await self._reviews.person(token.strip())
        if person is None:
            raise UnknownCaller("the API server does not accept the token")
        return person

    def _forwarded(self, request: web.BaseRequest) -> Person | None:
        """Return the person for whom the API server asks. TLS has verified the certificate against any authority since
        the start; here it must be of a present one.
        """
        return self.proxy.person(request) if self.is_proxy(request) else None

    def is_proxy(self, request: web.BaseRequest) -> bool:
        """Report whether the client is the API server."""
        connection = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
        certificate = connection.getpeercert(True) if connection is not None else None
        return certificate is not None and self.proxy.admits(certificate)
