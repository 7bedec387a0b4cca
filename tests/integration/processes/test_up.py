"""`stromboli up`, typed by somebody without a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.processes.conftest import KUBECTL, Command, wait_for

GANG = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: gang}
spec: {minMember: 2}
"""
MEMBER = """
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {scheduling.k8s.io/group-name: gang, stromboli.dev/run-seconds: "6"}}
spec: {schedulerName: volcano, containers: [{name: main, image: example/main, resources: {requests: {cpu: "1"}}}]}
"""


def up(folder: Path, *arguments: str) -> Command:
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    return Command("up", *arguments, environment=environment, folder=folder)


def kubectl(config: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(KUBECTL), f"--kubeconfig={config}", *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout


def test_a_cluster_is_up_at_once_and_gone_without_a_trace(tmp_path: Path) -> None:
    command = up(tmp_path, "--nodes=3", "--gpu=2", "--racks=3")
    config = tmp_path / ".local/state/stromboli/kubeconfig"
    try:
        wait_for(config.exists, "the kubeconfig")
        assert config.stat().st_mode & 0o077 == 0
        wait_for(lambda: kubectl(config, "get", "nodes").count(" Ready ") == 3, "three nodes that are ready")
        racks = kubectl(config, "get", "nodes", "-o", "jsonpath={.items[*].metadata.labels.stromboli\\.dev/rack}")
        assert sorted(racks.split()) == ["rack-0", "rack-1", "rack-2"]
        assert kubectl(config, "get", "nodes", "-o", "jsonpath={.items[0].status.allocatable.nvidia\\.com/gpu}") == "2"
        command.signal(signal.SIGINT)
        assert command.ends() == 0
    finally:
        command.kill()
    assert not config.exists()
    assert "Traceback" not in command.output


def test_manifests_are_applied_and_what_happens_is_shown(tmp_path: Path) -> None:
    manifest = tmp_path / "gang.yaml"
    manifest.write_text(GANG + MEMBER.replace("NAME", "one") + MEMBER.replace("NAME", "two"))
    command = up(tmp_path, "-f", str(manifest), "--watch", "--for=2m")
    try:
        command.says("3 objects applied.")
        command.says("default/gang: Running (2 Running)")
        command.says("default/gang: Completed (2 Succeeded)")
        command.signal(signal.SIGINT)
        assert command.ends() == 0
    finally:
        command.kill()


def test_a_cluster_for_a_while_ends_by_itself(tmp_path: Path) -> None:
    command = up(tmp_path, "--for=1s")
    try:
        assert command.ends() == 0
    finally:
        command.kill()
    assert "Stopping." in command.output


def test_a_kubeconfig_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "config"
    theirs.write_text("apiVersion: v1\n")
    command = up(tmp_path, f"--kubeconfig={theirs}")
    assert command.ends() == 1
    assert "was not made by stromboli up" in command.output
    assert theirs.read_text() == "apiVersion: v1\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--cpu=lots",), "lots"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: no such file or folder"),
        (("--scheduler-conf=nowhere.conf",), "nowhere.conf"),
        (("--for=soon",), "is not a duration"),
        (("-f", "LIST"), "List: items: expected a list"),
    ],
)
def test_bad_options_are_refused_with_a_sentence(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "list.yaml").write_text("apiVersion: v1\nkind: List\n")
    command = up(tmp_path, *(str(tmp_path / "list.yaml") if word == "LIST" else word for word in arguments))
    assert command.ends() in (1, 2)
    assert words in command.output
    assert "Traceback" not in command.output
