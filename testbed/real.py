"""A real API server with etcd, on the loopback device."""

from __future__ import annotations

import contextlib
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

from testbed.assets import Assets
from testbed.front_proxy import front_proxy_flags
from testbed.plane import ACCOUNTS, ADMINISTRATOR, ControlPlane, write_kubeconfig
from testbed.ports import free_ports
from testbed.request_records import record

TOKENS = {who: f"token-of-{who}" for who in (ADMINISTRATOR, *ACCOUNTS)}
#: In seconds; a loaded machine needs a multiple of the usual five.
STARTS_WITHIN = 180.0
STOPS_WITHIN = 20.0


@contextlib.contextmanager
def real_plane(assets: Assets, *flags: str) -> Iterator[ControlPlane]:
    """Start etcd and an API server with these additional flags; both end with the context."""
    with tempfile.TemporaryDirectory(prefix="stromboli-e2e-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        peer, client, secure = free_ports(3)
        store = f"http://127.0.0.1:{client}"
        stack.enter_context(running(assets.etcd, _store_flags(folder, store, peer), folder / "etcd.log"))
        log = folder / "api-server.log"
        server = stack.enter_context(running(assets.api_server, [*_flags(folder, store, secure), *flags], log))
        _wait_until_ready(server, secure, log)
        url = f"https://127.0.0.1:{secure}"
        kubeconfigs = {who: write_kubeconfig(folder / who, url, token) for who, token in TOKENS.items()}
        plane = ControlPlane("real", kubeconfigs, folder / "audit.log")
        try:
            yield plane
        finally:
            record(plane)


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
    _write_tokens(folder / "tokens.csv")
    _write_audit_policy(folder / "audit.yaml")
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
        f"--audit-policy-file={folder / 'audit.yaml'}",
        f"--audit-log-path={folder / 'audit.log'}",
        *front_proxy_flags(folder),
    ]


def _write_tokens(path: Path) -> None:
    users = [f'{TOKENS[ADMINISTRATOR]},{ADMINISTRATOR},1,"system:masters"']
    users += [f'{TOKENS[who]},{user},{user},"system:serviceaccounts"' for who, user in ACCOUNTS.items()]
    path.write_text("".join(f"{line}\n" for line in users))


def _write_audit_policy(path: Path) -> None:
    """Audit policy: requests of the test accounts, without bodies."""
    ours = {"level": "Metadata", "users": list(ACCOUNTS.values()), "omitStages": ["RequestReceived"]}
    rules = [ours, {"level": "None"}]
    path.write_text(yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}))


def _write_keys(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "accounts.key").write_bytes(private)
    (folder / "accounts.pub").write_bytes(public)


@contextlib.contextmanager
def running(binary: Path, flags: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program; it ends with the context."""
    with log.open("w") as output:
        process = subprocess.Popen([str(binary), *flags], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {TOKENS[ADMINISTRATOR]}"}
    request = urllib.request.Request(f"https://127.0.0.1:{port}/readyz", headers=headers)
    deadline = time.monotonic() + STARTS_WITHIN
    while server.poll() is None and time.monotonic() < deadline:
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            urllib.request.urlopen(request, timeout=10, context=context),  # noqa: S310 - our own address
        ):
            return
        time.sleep(0.1)
    raise AssertionError(f"the API server did not become ready:\n{log.read_text()[-2000:]}")
