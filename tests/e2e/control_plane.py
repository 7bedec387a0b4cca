"""A real API server with its store, on the loopback device, as other projects start theirs in tests."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.assets import Assets

TOKEN = "e2e-administrator"  # noqa: S105 - of a server that lives for a test
STARTS_WITHIN = 60.0


class ControlPlane:
    """Where the server is, and a kubeconfig for an administrator."""

    def __init__(self, folder: Path, port: int) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.kubeconfig = folder / "kubeconfig"
        cluster = {"server": self.url, "insecure-skip-tls-verify": True}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "administrator", "user": {"token": TOKEN}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "administrator"}}],
            "current-context": "real",
        }
        self.kubeconfig.write_text(yaml.safe_dump(document))


@contextlib.contextmanager
def control_plane(assets: Assets) -> Iterator[ControlPlane]:
    """Start a store and a server; both are gone when it ends."""
    with tempfile.TemporaryDirectory(prefix="stromboli-e2e-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        peer, client, secure = _free_ports(3)
        store = f"http://127.0.0.1:{client}"
        stack.enter_context(_running(assets.etcd, _store_flags(folder, store, peer), folder / "etcd.log"))
        stack.enter_context(_running(assets.api_server, _flags(folder, store, secure), folder / "api-server.log"))
        _wait_until_ready(secure, folder / "api-server.log")
        yield ControlPlane(folder, secure)


def _store_flags(folder: Path, store: str, peer: int) -> list[str]:
    return [
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        f"--listen-client-urls={store}",
        f"--advertise-client-urls={store}",
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync=true",
    ]


def _flags(folder: Path, store: str, port: int) -> list[str]:
    _write_keys(folder)
    (folder / "tokens.csv").write_text(f'{TOKEN},administrator,1,"system:masters"\n')
    return [
        f"--etcd-servers={store}",
        f"--cert-dir={folder / 'certificates'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--disable-admission-plugins=ServiceAccount",
        "--authorization-mode=RBAC",
        f"--service-account-issuer=https://127.0.0.1:{port}/",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--endpoint-reconciler-type=none",
    ]


def _write_keys(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "accounts.key").write_bytes(private)
    (folder / "accounts.pub").write_bytes(public)


def _free_ports(number: int) -> list[int]:
    """Ports that nobody uses, found by using them all at once for a moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def _running(binary: Path, flags: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen([str(binary), *flags], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_ready(port: int, log: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(f"https://127.0.0.1:{port}/readyz", headers={"Authorization": f"Bearer {TOKEN}"})
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            urllib.request.urlopen(request, context=context),  # noqa: S310 - our own address
        ):
            return
        time.sleep(0.1)
    raise AssertionError(f"the API server did not become ready:\n{log.read_text()[-2000:]}")
