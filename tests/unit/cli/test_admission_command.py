"""The sub-commands of the webhook: configuration and certificates."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from cryptography import x509

from stromboli.admission.facts import CHECKS as RULES
from stromboli.cli import main
from stromboli.cli.commands.run.admission import CHECKS


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["admission", *arguments])


def configurations(*arguments: str) -> list[dict[str, Any]]:
    result = run("configuration", *arguments)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.stdout))


def test_webhook_configuration_refers_to_the_service() -> None:
    mutating, validating = configurations("--service=hook", "--namespace=batch", "--port=8443")
    for document, path in ((mutating, "/mutate"), (validating, "/validate")):
        for webhook in document["webhooks"]:
            service = {"name": "hook", "namespace": "batch", "port": 8443, "path": path}
            assert webhook["clientConfig"] == {"service": service}
            assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["batch", "kube-system"]


def test_webhook_configuration_with_url_has_the_authority(tmp_path: Path) -> None:
    assert run("certificates", f"--folder={tmp_path / 'made'}", "--host=10.0.0.1").exit_code == 0
    file = tmp_path / "made" / "ca.crt"
    (mutating, _) = configurations("--url=https://10.0.0.1/", f"--ca-file={file}", "--mutating-failure=fail")
    webhook = mutating["webhooks"][0]
    assert webhook["clientConfig"]["url"] == "https://10.0.0.1/mutate"
    assert base64.b64decode(webhook["clientConfig"]["caBundle"]) == file.read_bytes()
    assert webhook["failurePolicy"] == "Fail"


def test_certificate_names_service_and_hosts(tmp_path: Path) -> None:
    result = run("certificates", f"--folder={tmp_path}", "--service=hook", "-nbatch", "--host=a.example", "--days=3")
    assert result.exit_code == 0, result.output
    certificate = x509.load_pem_x509_certificate((tmp_path / "tls.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["hook.batch.svc", "hook.batch.svc.cluster.local", "a.example"]
    assert (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days == 3
    assert (tmp_path / "tls.key").stat().st_mode & 0o077 == 0, "only the owner may read the key"


REFUSED: dict[str, tuple[list[str], int, str]] = {
    "no certificate": ([], 2, "--tls-cert-file is missing; API servers require TLS"),
    "no key": (["--tls-cert-file=a"], 2, "--tls-private-key-file is missing"),
    "invalid address": (
        ["--tls-cert-file=a", "--tls-private-key-file=b", "--webhook-address=here"], 2,
        "'here' is not an address to listen on"),
    "empty address": (
        ["--tls-cert-file=a", "--tls-private-key-file=b", "--path-secret-file=c", "--webhook-address="], 2,
        "--webhook-address is empty"),
    "every client": (["--tls-cert-file=a", "--tls-private-key-file=b"], 2, "--path-secret-file is missing; without it"),
    "unusable path secret": (["configuration", f"--path-secret-file={__file__}"], 1, "ASCII letters and digits only"),
    "no TLS": (["configuration", "--url=http://hook.example.com"], 2, "begin it with https://"),
    "missing authority": (["configuration", "--ca-file=/nowhere"], 1, 'the path "/nowhere" does not exist'),
    "invalid authority": (["configuration", f"--ca-file={__file__}"], 1, "contains no PEM certificate"),
    "unknown rule": (["--without=gravity"], 2, "'gravity' is not one of"),
    "invalid folder": (["certificates", "--folder=/dev/null/x"], 1, "cannot be accessed: not a directory"),
    "invalid host": (["certificates", "--folder=/tmp", "--host=ä"], 2, "--host"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_input_is_rejected_with_its_option(case: str) -> None:
    arguments, code, message = REFUSED[case]
    result = run(*arguments)
    assert (result.exit_code, message in result.output) == (code, True), result.output


def test_rules_of_without_are_those_of_the_webhook() -> None:
    assert CHECKS == RULES
