"""The commands around the webhook: what an API server is told, certificates, and what is refused."""

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
from stromboli.cli.commands.admission import CHECKS


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["admission", *arguments])


def configurations(*arguments: str) -> list[dict[str, Any]]:
    result = run("configuration", *arguments)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.stdout))


def test_the_server_is_told_to_ask_a_service() -> None:
    mutating, validating = configurations("--service=hook", "--namespace=batch", "--port=8443")
    for document, path in ((mutating, "/mutate"), (validating, "/validate")):
        for webhook in document["webhooks"]:
            service = {"name": "hook", "namespace": "batch", "port": 8443, "path": path}
            assert webhook["clientConfig"] == {"service": service}
            assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["batch", "kube-system"]


def test_the_server_is_told_to_ask_an_address_that_it_can_trust(tmp_path: Path) -> None:
    assert run("certificates", f"--folder={tmp_path / 'made'}", "--host=10.0.0.1").exit_code == 0
    file = tmp_path / "made" / "ca.crt"
    (mutating, _) = configurations("--url=https://10.0.0.1/", f"--ca-file={file}", "--mutating-failure=fail")
    webhook = mutating["webhooks"][0]
    assert webhook["clientConfig"]["url"] == "https://10.0.0.1/mutate"
    assert base64.b64decode(webhook["clientConfig"]["caBundle"]) == file.read_bytes()
    assert webhook["failurePolicy"] == "Fail"


def test_a_certificate_is_for_the_service_and_the_hosts(tmp_path: Path) -> None:
    result = run("certificates", f"--folder={tmp_path}", "--service=hook", "-nbatch", "--host=a.example", "--days=3")
    assert result.exit_code == 0, result.output
    certificate = x509.load_pem_x509_certificate((tmp_path / "tls.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["hook.batch.svc", "hook.batch.svc.cluster.local", "a.example"]
    assert (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days == 3
    assert (tmp_path / "tls.key").stat().st_mode & 0o077 == 0, "nobody else may read the key"


REFUSED: dict[str, tuple[list[str], int, str]] = {
    "no certificate": ([], 2, "--tls-cert-file is missing; API servers require TLS"),
    "no key": (["--tls-cert-file=a"], 2, "--tls-private-key-file is missing"),
    "an address": (
        ["--tls-cert-file=a", "--tls-private-key-file=b", "--webhook-address=here"], 2,
        "'here' is not an address to listen on"),
    "nowhere to listen": (
        ["--tls-cert-file=a", "--tls-private-key-file=b", "--webhook-address="], 2, "--webhook-address is empty"),
    "no TLS": (["configuration", "--url=http://hook.example.com"], 2, "begin it with https://"),
    "an authority that is not there": (["configuration", "--ca-file=/nowhere"], 1, "/nowhere: No such file"),
    "an authority that is none": (["configuration", f"--ca-file={__file__}"], 1, "contains no PEM certificate"),
    "a rule": (["--without=gravity"], 2, "'gravity' is not one of"),
    "a folder": (["certificates", "--folder=/dev/null/x"], 1, "Not a directory"),
    "a host": (["certificates", "--folder=/tmp", "--host=ä"], 2, "--host"),
}  # fmt: skip


@pytest.mark.parametrize("story", REFUSED)
def test_what_cannot_be_used_is_named(story: str) -> None:
    arguments, code, words = REFUSED[story]
    result = run(*arguments)
    assert (result.exit_code, words in result.output) == (code, True), result.output


def test_the_rules_that_can_be_left_out_are_those_there_are() -> None:
    assert CHECKS == RULES
