"""`stromboli up` on a machine without a cluster."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cli.local_kubeconfig import history_of_cluster
from tests.integration.processes.conftest import KUBECTL, ROOT, Command, wait_for

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
        history = Path(history_of_cluster(str(config), None))
        wait_for(history.exists, "the history")
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
    assert not history.parent.exists()
    assert not {"Traceback", "WARNING", "ERROR"} & set(command.output.split())


def test_manifests_are_applied_and_what_happens_is_shown(tmp_path: Path) -> None:
    manifest = tmp_path / "gang.yaml"
    manifest.write_text(GANG + MEMBER.replace("NAME", "one") + MEMBER.replace("NAME", "two"))
    command = up(tmp_path, "-f", str(manifest), "--watch", "--for=2m")
    try:
        command.wait_for_output("podgroup.scheduling.volcano.sh/gang created")
        command.wait_for_output("gang: Running, 2 of 2 pods running")
        command.wait_for_output("gang: Completed, 0 of 2 pods running, 2 succeeded")
        command.signal(signal.SIGINT)
        assert command.ends() == 0
    finally:
        command.kill()


def test_changed_policy_is_an_event_of_the_view(tmp_path: Path) -> None:
    policy = tmp_path / "policy.conf"
    valid = 'actions: "allocate"\ntiers: [{plugins: [{name: gang}]}]\n'
    policy.write_text(valid)
    config = tmp_path / "kubeconfig"
    command = up(tmp_path, f"--conf={policy}", f"--kubeconfig={config}", "--watch")
    try:
        command.wait_for_output("Ctrl-C stops it.")
        planned = CliRunner().invoke(main, ["plan"], env={"KUBECONFIG": str(config)})
        assert planned.exit_code == 0
        assert planned.stderr.endswith("policy of ConfigMap stromboli-system/stromboli-scheduler-configmap\n")
        policy.write_text(valid.replace("gang", "gangg"))
        command.wait_for_output("did you mean 'gang'")
        policy.write_text(valid.replace("allocate", "enqueue, allocate"))
        command.wait_for_output("policy: reloaded")
    finally:
        command.kill()


def test_printed_commands_work_as_they_are(tmp_path: Path) -> None:
    command = up(tmp_path)
    try:
        command.wait_for_output("Ctrl-C stops it.")
        lines = [line.strip() for line in command.output.splitlines() if line.startswith("  ")]
        assert [line.split()[0] for line in lines] == ["export", "kubectl", "kubectl", "kubectl"]
        script, output = "\n".join(["set -e", *lines[:-1], f"exec {lines[-1]}"]), tmp_path / "output"
        environment = {"PATH": f"{KUBECTL.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
        with output.open("w") as both:
            shell = subprocess.Popen(["bash", "-c", script], env=environment, cwd=ROOT, stdout=both, stderr=both)
        try:
            wait_for(lambda: "MINMEMBER" in output.read_text() or shell.poll() is not None, "the table of groups")
            assert shell.poll() is None, output.read_text()
        finally:
            shell.kill()
            shell.wait()
        assert " Ready " in output.read_text()
        assert "podgroup.scheduling.volcano.sh/train created" in output.read_text()
        assert "MINMEMBER" in output.read_text()
    finally:
        command.kill()


def test_a_cluster_for_a_while_ends_by_itself(tmp_path: Path) -> None:
    command = up(tmp_path, "--for=1s")
    try:
        assert command.ends() == 0
    finally:
        command.kill()
    assert "Stopping." in command.output


def test_foreign_kubeconfig_is_not_overwritten(tmp_path: Path) -> None:
    theirs = tmp_path / "config"
    theirs.write_text("apiVersion: v1\n")
    command = up(tmp_path, f"--kubeconfig={theirs}")
    assert command.ends() == 1
    assert "was not generated by stromboli up" in command.output
    assert theirs.read_text() == "apiVersion: v1\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--cpu=lots",), "lots"),
        (("-f", "nowhere.yaml"), 'the path "nowhere.yaml" does not exist'),
        (("--conf=nowhere.conf",), "nowhere.conf"),
        (("--scheduler-conf=nowhere.conf",), "nowhere.conf"),
        (("--for=soon",), "is not a duration"),
        (("-f", "list.yaml"), "List: items: expected a list"),
        (("-f", "away.yaml"), 'configmap/a: 404 NotFound: namespaces "away" not found'),
    ],
)
def test_bad_options_are_refused_with_a_sentence(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "list.yaml").write_text("apiVersion: v1\nkind: List\nitems: 1\n")
    away = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: away}\n"
    (tmp_path / "away.yaml").write_text(away)
    made = {path.name: str(path) for path in tmp_path.iterdir()}
    command = up(tmp_path, *(made.get(word, word) for word in arguments))
    assert command.ends() in (1, 2)
    assert words in command.output
    assert "Traceback" not in command.output


async def _nodes_ready(url: str, code: str) -> int:
    """Log in by the code, and return the number of ready nodes; 0 until the console is ready."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.post(f"{url}/api/session", json={"code": code}) as login:
            if login.status != 200:
                return 0
        async with session.get(f"{url}/api/overview") as answer:
            return int((await answer.json())["nodesReady"])


def test_printed_link_logs_in_to_the_console(tmp_path: Path) -> None:
    command = up(tmp_path, "--nodes=2")
    try:
        command.wait_for_output("#code=")
        url, code = re.findall(r"(http://127\.0\.0\.1:\d+)/#code=(\S+)", command.output)[0]

        wait_for(lambda: asyncio.run(_nodes_ready(url, code)) == 2, "two nodes in the console")
        command.signal(signal.SIGINT)
        assert command.ends() == 0
    finally:
        command.kill()
