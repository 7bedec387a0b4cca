"""The certificate with which an API server forwards requests of aggregated APIs, and its flags."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NAME = "front-proxy-client"


def front_proxy_flags(folder: Path) -> list[str]:
    """Write the certificates, and return the flags that name them."""
    authority, certificate, key = front_proxy_certificate()
    for name, content in (("authority.crt", authority), ("client.crt", certificate), ("client.key", key)):
        (folder / f"front-proxy-{name}").write_bytes(content)
    return [
        f"--requestheader-client-ca-file={folder / 'front-proxy-authority.crt'}",
        f"--requestheader-allowed-names={NAME}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={folder / 'front-proxy-client.crt'}",
        f"--proxy-client-key-file={folder / 'front-proxy-client.key'}",
    ]


def front_proxy_certificate(name: str = NAME) -> tuple[bytes, bytes, bytes]:
    """Return an authority, and a certificate of a client with its key, in PEM."""
    authority_key, client_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = _builder("front-proxy-ca", "front-proxy-ca", authority_key)
    issuer = issuer.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    authority = issuer.sign(authority_key, hashes.SHA256())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    client = _builder(name, "front-proxy-ca", client_key).add_extension(usage, critical=False)
    certificate = client.sign(authority_key, hashes.SHA256())
    key = client_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    return authority.public_bytes(pem), certificate.public_bytes(pem), key


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(subject))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
