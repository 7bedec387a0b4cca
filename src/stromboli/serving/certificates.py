"""A certificate authority for the lifetime of one server, and its only certificate."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: Names of a server on this machine.
_HERE = ("127.0.0.1", "localhost", "kubernetes")
_DAYS = 365
#: Tolerated clock skew between containers and hosts.
_EARLIER = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM texts. The authority's key is discarded after it has signed the certificate."""

    authority: bytes
    certificate: bytes
    key: bytes

    def server_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        with tempfile.TemporaryDirectory() as folder:
            chain = Path(folder, "chain.pem")
            chain.touch(mode=0o600)
            chain.write_bytes(self.key + self.certificate)
            context.load_cert_chain(chain)
        return context

    def client_context(self) -> ssl.SSLContext:
        """A context that trusts only this authority."""
        return ssl.create_default_context(cadata=self.authority.decode())


def make_certificates(hosts: Sequence[str] = _HERE, days: int = _DAYS) -> Certificates:
    """Make certificates for a server with these names and addresses."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key, days)
    certificate = _server(server_key, authority_key, hosts, days)
    return Certificates(
        authority.public_bytes(serialization.Encoding.PEM),
        certificate.public_bytes(serialization.Encoding.PEM),
        server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _authority(key: ec.EllipticCurvePrivateKey, days: int) -> x509.Certificate:
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = _builder("stromboli-authority", "stromboli-authority", key, days)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256())


def _server(
    key: ec.EllipticCurvePrivateKey, authority_key: ec.EllipticCurvePrivateKey, hosts: Sequence[str], days: int
) -> x509.Certificate:
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    builder = _builder("stromboli-server", "stromboli-authority", key, days)
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return builder.add_extension(issued_by, critical=False).sign(authority_key, hashes.SHA256())


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
