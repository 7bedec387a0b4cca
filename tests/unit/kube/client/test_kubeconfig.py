"""kubeconfig files follow kubectl's rules; unusable entries are reported with file, field and remedy."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from stromboli.kube.client.config.connect import connect, in_cluster_connection
from stromboli.kube.client.config.connection import Connection, ConnectionProblem
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from tests.testing.kube.certificate_authority import Authority


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No file, no proxy and no pod unless the test sets them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def config(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, name: str = "x", **rest: Any
) -> dict[str, Any]:
    return {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": {"token": f"token-{name}"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        **rest,
    }


def write(path: Path, document: Any) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return str(path)


async def authorization(connection: Connection) -> str | None:
    return (await connection.credentials.headers()).get("Authorization")


async def test_default_kubeconfig(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", config())
    connection = load_kubeconfig()
    assert (connection.server, connection.namespace) == ("https://x:6443", "default")
    assert await authorization(connection) == "Bearer token-x"
    assert connection.ssl is not None
    assert connection.ssl.verify_mode is ssl.CERT_REQUIRED


async def test_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file with a value counts; missing files are ignored."""
    one = config(name="one")
    del one["current-context"], one["users"]
    other = config(name="one", cluster={"server": "https://hidden:1"})
    files = [write(tmp_path / "1", one), str(tmp_path / "none"), write(tmp_path / "2", other)]
    monkeypatch.setenv("KUBECONFIG", ":".join(files))
    connection = load_kubeconfig()
    assert connection.server == "https://one:6443"
    assert await authorization(connection) == "Bearer token-one"


def test_named_context(tmp_path: Path) -> None:
    document = config()
    document["contexts"].append({"name": "y", "context": {"cluster": "x", "user": "x", "namespace": "team"}})
    assert load_kubeconfig(write(tmp_path / "c", document), "y").namespace == "team"


CLUSTERS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("no verification", {"insecure-skip-tls-verify": True}, "ssl.verify_mode", ssl.CERT_NONE),
    ("another name", {"tls-server-name": "kubernetes"}, "server_name", "kubernetes"),
    ("a proxy", {"proxy-url": "http://proxy:3128"}, "proxy", "http://proxy:3128"),
    ("a slash too many", {"server": "https://x:1/"}, "server", "https://x:1"),
    ("plain", {"server": "http://x:1"}, "ssl", None),
]


@pytest.mark.parametrize(("title", "cluster", "place", "wanted"), CLUSTERS, ids=[row[0] for row in CLUSTERS])
def test_cluster_entry(title: str, cluster: dict[str, Any], place: str, wanted: Any, tmp_path: Path) -> None:
    found: Any = load_kubeconfig(write(tmp_path / "c", config(cluster)))
    for step in place.split("."):
        found = getattr(found, step)
    assert found == wanted


USERS: list[tuple[str, dict[str, Any], str | None]] = [
    ("anonymous", {}, None),
    ("a token", {"token": "t"}, "Bearer t"),
    ("a file wins over a token", {"token": "t", "tokenFile": "token"}, "Bearer from-file"),
    ("a password", {"username": "me", "password": "secret"}, "Basic bWU6c2VjcmV0"),
]


@pytest.mark.parametrize(("title", "user", "wanted"), USERS, ids=[row[0] for row in USERS])
async def test_user_entry(title: str, user: dict[str, Any], wanted: str | None, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert await authorization(load_kubeconfig(write(tmp_path / "c", config(user=user)))) == wanted


def test_certificate_files_relative_to_kubeconfig(tmp_path: Path) -> None:
    authority = Authority()
    pair = authority.issue("me")
    for name, content in (("ca", authority.certificate), ("cert", pair.certificate), ("key", pair.key)):
        (tmp_path / name).write_bytes(content)
    user = {"client-certificate": "cert", "client-key": "key"}
    connection = load_kubeconfig(write(tmp_path / "c", config({"certificate-authority": "ca"}, user)))
    assert connection.ssl is not None
    assert len(connection.ssl.get_ca_certs()) == 1
    assert connection.credentials.certificate() is not None


PROBLEMS: list[tuple[str, Any, str]] = [
    ("no context", {**config(), "current-context": ""}, "FILE: current-context is missing; name a context"),
    ("unknown context", {**config(), "current-context": "z"}, "FILE: no context 'z'; known: 'x'"),
    ("no cluster", config(clusters=[]), "FILE: no cluster 'x'; known: none"),
    ("no server", config({"server": ""}), "FILE: cluster 'x': server: is missing; write it"),
    (
        "no address",
        config({"server": "x:6443"}),
        "FILE: cluster 'x': server: 'x:6443' is not an address; write one such as https://10.0.0.1:6443",
    ),
    (
        "a number",
        config(user={"token": 3}),
        "FILE: user 'x': token: expected a string, got an integer; put the value in quotes",
    ),
    (
        "a word for a flag",
        config({"insecure-skip-tls-verify": "yes"}),
        "FILE: cluster 'x': insecure-skip-tls-verify: expected a boolean, got a string; write true or false",
    ),
    (
        "no base64",
        config({"certificate-authority-data": "***"}),
        "FILE: cluster 'x': certificate-authority-data: is not base64; encode the file with base64 -w0",
    ),
    (
        "no certificate",
        config({"certificate-authority-data": "eHl6"}),
        "FILE: cluster 'x': certificate-authority-data: is not a certificate in PEM form; correct the value",
    ),
    (
        "half a pair",
        config(user={"client-certificate-data": "eHl6"}),
        "FILE: user 'x': client-key: is missing; write both client-certificate and client-key",
    ),
    (
        "no pair",
        config(user={"client-certificate-data": "eHl6", "client-key-data": "eHl6"}),
        "FILE: user 'x': client-certificate: certificate and key are not a matching pair in PEM form; "
        "correct the value",
    ),
    (
        "legacy",
        config(user={"auth-provider": {"name": "oidc"}}),
        "FILE: user 'x': auth-provider: is not supported; use an exec plugin instead, as kubectl does since 1.26",
    ),
    (
        "socks",
        config({"proxy-url": "socks5://x"}),
        "FILE: cluster 'x': proxy-url: 'socks5://x' is not supported; name an http or https proxy",
    ),
    (
        "old plugin",
        config(user={"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}),
        "FILE: user 'x': exec: apiVersion: 'client.authentication.k8s.io/v1alpha1' is not supported; write one of "
        "client.authentication.k8s.io/v1, client.authentication.k8s.io/v1beta1",
    ),
    (
        "a plugin that asks",
        config(user={"exec": {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Always"}}),
        "FILE: user 'x': exec: interactiveMode: no terminal is available; write IfAvailable or Never",
    ),
    ("no list", config(users={"a": 1}), "FILE: users: expected a list; write one user per dash"),
    ("no name", config(users=[{"user": {}}]), "FILE: users[0]: name is missing; write name and user"),
    ("no map", [1], "FILE: is not a kubeconfig; name another file"),
]


@pytest.mark.parametrize(("title", "document", "words"), PROBLEMS, ids=[row[0] for row in PROBLEMS])
def test_invalid_kubeconfig(title: str, document: Any, words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "c", document)
    with pytest.raises(ConnectionProblem) as caught:
        load_kubeconfig(path)
    assert str(caught.value).replace(path, "FILE") == words


def test_missing_file_and_invalid_yaml(tmp_path: Path) -> None:
    with pytest.raises(ConnectionProblem, match="does not exist; set KUBECONFIG or name a kubeconfig file"):
        load_kubeconfig()
    (tmp_path / "c").write_text("a: [")
    with pytest.raises(ConnectionProblem, match=":2:1: "):
        load_kubeconfig(str(tmp_path / "c"))


PROXIES = [
    ("https://far:6443", "", "http://proxy:1"),
    ("https://near:6443", "near,10.0.0.1", ""),
    ("https://127.0.0.1:6443", "", ""),
    ("https://localhost:6443", "", ""),
]


@pytest.mark.parametrize(("server", "exceptions", "wanted"), PROXIES, ids=[row[0] for row in PROXIES])
def test_proxy_from_environment(
    server: str, exceptions: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setenv("no_proxy", exceptions)
    assert load_kubeconfig(write(tmp_path / "c", config({"server": server}))).proxy == wanted


# -- the choice -------------------------------------------------------------------------------------------------


def service_account(folder: Path) -> Path:
    for name, content in (("token", b"t"), ("ca.crt", Authority().certificate), ("namespace", b"team")):
        (folder / name).write_bytes(content)
    return folder


async def test_in_cluster_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    connection = in_cluster_connection(service_account(tmp_path))
    assert (connection.server, connection.namespace) == ("https://[fd00::1]:6443", "team")
    assert await authorization(connection) == "Bearer t"


def test_in_cluster_connection_outside_of_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionProblem, match="not running in a pod; name a kubeconfig file"):
        in_cluster_connection()
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "x")
    with pytest.raises(ConnectionProblem, match="mount the service account's token"):
        in_cluster_connection(tmp_path)


def test_connection_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionProblem, match="no cluster is configured"):
        connect()
    with monkeypatch.context() as patched:
        patched.setenv("KUBECONFIG", "/absent")
        with pytest.raises(ConnectionProblem, match='the path "/absent" does not exist'):
            connect()
    assert connect(master="http://bare:1").server == "http://bare:1"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "pod")
    monkeypatch.setattr("stromboli.kube.client.config.connect.is_in_cluster", lambda: True)
    monkeypatch.setattr(
        "stromboli.kube.client.config.connect.in_cluster_connection",
        lambda: in_cluster_connection(service_account(tmp_path)),
    )
    assert connect().server == "https://pod:443"
    write(tmp_path / ".kube" / "config", config())
    assert connect().server == "https://x:6443"
    assert connect(master="https://elsewhere:1/").server == "https://elsewhere:1"
    assert connect(write(tmp_path / "named", config(name="named"))).server == "https://named:6443"
