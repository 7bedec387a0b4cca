"""Secrets that a scheduler is given leave it by no door: log, dump, metrics, configuration, objects."""

from __future__ import annotations

import gzip
import re
import signal
from pathlib import Path

import pytest
import yaml

from tests.integration.processes.conftest import POD, Cluster, Command
from tests.integration.processes.test_scheduler_process import page_at

PASSWORD, OTHER, ENVIRONMENT = "c4n4ry-p4ssword-01", "c4n4ry-p4ssword-02", "c4n4ry-env1ronment"
REFUSED = "c4n4ry-t0ken-0123456789"
POLICY = """actions: "enqueue, allocate"
tiers: [{plugins: [{name: gang}, {name: predicates}]}]
metrics:
  type: elasticsearch
  address: https://reader:%s@metrics.example.com
  elasticsearch: {username: reader, password: %s}
"""
SECRETIVE = POD.replace("image: example/main", f"image: example/main, env: [{{name: TOKEN, value: {ENVIRONMENT}}}]")


def token_of(kubeconfig: str) -> str:
    return str(yaml.safe_load(Path(kubeconfig).read_text())["users"][0]["user"]["token"])


def listening(cluster: Cluster, *arguments: str) -> tuple[Command, str]:
    """A scheduler with the most verbose log, and the address of its metrics."""
    addresses = ("--listen-address=127.0.0.1:0", "--healthz-address=", "--leader-elect=false")
    scheduler = cluster.start("scheduler", *addresses, "--log-level=debug", *arguments)
    scheduler.wait_for_output("/metrics")
    found = re.search(r"http://[^\s\"]+/metrics", scheduler.output)
    assert found is not None
    return scheduler, found[0]


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_stay_inside(form: str, cluster: Cluster, tmp_path: Path) -> None:
    policy, dumps = tmp_path / "policy.conf", tmp_path / "dumps"
    dumps.mkdir()
    policy.write_text(POLICY % (PASSWORD, PASSWORD))
    scheduler, metrics = listening(
        cluster, f"--log-format={form}", f"--scheduler-conf={policy}", f"--cache-dump-dir={dumps}"
    )
    scheduler.wait_for_output("configuration loaded")
    cluster.kubectl("apply", "-f", "-", stdin=SECRETIVE.replace("NAME", "one"))
    cluster.wait_until_bound("one")
    policy.write_text(POLICY.replace("  type", "  type: [") % (OTHER, OTHER))
    scheduler.wait_for_output("the last valid one stays active")
    scheduler.signal(signal.SIGUSR2)
    scheduler.wait_for_output("cache equals the API server")
    scheduler.wait_for_output("dump written")
    (dump,) = dumps.iterdir()
    outputs = {
        "log": scheduler.output,
        "dump": gzip.decompress(dump.read_bytes()).decode(),
        "metrics": page_at(metrics),
        "configuration": page_at(metrics.replace("/metrics", "/configz")),
        "events": cluster.kubectl("get", "events", "-A", "-o", "yaml"),
    }
    secrets = (PASSWORD, OTHER, ENVIRONMENT, token_of(cluster.kubeconfig))
    assert [(where, secret) for where, text in outputs.items() for secret in secrets if secret in text] == []


def test_rejected_token_is_not_logged(cluster: Cluster, tmp_path: Path) -> None:
    document = yaml.safe_load(Path(cluster.kubeconfig).read_text())
    document["users"][0]["user"] = {"token": REFUSED}
    wrong = tmp_path / "wrong"
    wrong.write_text(yaml.safe_dump(document))
    scheduler, _ = listening(cluster, f"--kubeconfig={wrong}")
    scheduler.wait_for_output("401")
    assert REFUSED not in scheduler.output
