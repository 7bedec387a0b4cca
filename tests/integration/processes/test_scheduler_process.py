"""The scheduler as a process: leadership, dumps, endpoints, and termination."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

from tests.integration.processes.conftest import STROMBOLI, Cluster, wait_for

LEASE = ("get", "lease", "stromboli", "-o", "json")


def holder(cluster: Cluster) -> str:
    return str(json.loads(cluster.kubectl(*LEASE))["spec"].get("holderIdentity", ""))


def test_another_one_takes_over_when_the_leader_is_killed(cluster: Cluster) -> None:
    first = cluster.start_scheduler()
    first.wait_for_output("leadership acquired")
    second = cluster.start_scheduler()
    cluster.create_pod("early")
    cluster.wait_until_bound("early")
    first.signal(signal.SIGKILL)
    cluster.create_pod("late")
    cluster.wait_until_bound("late")
    second.wait_for_output("epoch=1")


def test_a_leader_that_was_stopped_for_too_long_leaves_and_writes_nothing(cluster: Cluster) -> None:
    first = cluster.start_scheduler()
    first.wait_for_output("leadership acquired")
    first.signal(signal.SIGSTOP)
    second = cluster.start_scheduler()
    second.wait_for_output("leadership acquired")
    second.signal(signal.SIGSTOP)
    cluster.create_pod("waiting")
    first.signal(signal.SIGCONT)
    assert first.ends() == 5
    assert "leadership lost" in first.output
    assert cluster.node_of("waiting") == ""


def test_a_stop_gives_the_lease_back(cluster: Cluster) -> None:
    scheduler = cluster.start("scheduler", "--listen-address=", "--healthz-address=")
    scheduler.wait_for_output("leadership acquired")
    cluster.create_pod("one")
    cluster.wait_until_bound("one")
    scheduler.signal(signal.SIGTERM)
    assert scheduler.ends() == 0
    assert holder(cluster) == ""


def test_a_dump_can_be_replayed(cluster: Cluster, tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    scheduler = cluster.start_scheduler(f"--cache-dump-dir={dumps}", "--leader-elect=false")
    cluster.create_pod("one")
    cluster.wait_until_bound("one")
    scheduler.signal(signal.SIGUSR2)
    scheduler.wait_for_output("cache equals the API server")
    scheduler.wait_for_output("dump written")
    (dump,) = dumps.iterdir()
    assert dump.stat().st_mode & 0o077 == 0
    done = subprocess.run([str(STROMBOLI), "replay", str(dump)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The decisions equal those of the dump." in done.stdout


def test_endpoints_answer(cluster: Cluster) -> None:
    scheduler = cluster.start(
        "scheduler", "--leader-elect=false", "--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0"
    )
    scheduler.wait_for_output("readyz")
    metrics, health = re.findall(r"http://\S+", scheduler.output)
    cluster.create_pod("one")
    cluster.wait_until_bound("one")
    wait_for(lambda: 'stromboli_binds_total{result="bound"} 1.0' in page_at(metrics), "the bind to be counted")
    assert page_at(health).strip() == "ok"


def page_at(url: str) -> str:
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - our own address
        return str(answer.read().decode())


def test_the_policy_is_read_again_when_its_file_changes(cluster: Cluster, tmp_path: Path) -> None:
    policy = tmp_path / "policy.conf"
    policy.write_text('actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]\n')
    scheduler = cluster.start_scheduler(f"--scheduler-conf={policy}", "--leader-elect=false")
    scheduler.wait_for_output("configuration loaded")
    policy.write_text("actions: nonsense\ntiers: []\n")
    scheduler.wait_for_output("the last valid one stays active")
    cluster.create_pod("one")
    cluster.wait_until_bound("one")


def test_what_cannot_be_used_ends_the_command_with_a_sentence(cluster: Cluster, tmp_path: Path) -> None:
    policy = tmp_path / "policy.conf"
    policy.write_text("actions: nonsense\ntiers: []\n")
    refused = cluster.start_scheduler(f"--scheduler-conf={policy}")
    assert refused.ends() == 1
    assert "nonsense" in refused.output
    assert "stays active" not in refused.output
    nowhere = cluster.start_scheduler(f"--kubeconfig={tmp_path / 'nowhere'}")
    assert nowhere.ends() == 1
    assert "nowhere" in nowhere.output
    assert "Traceback" not in refused.output + nowhere.output


def test_flags_of_volcano_that_change_nothing_are_accepted_with_a_word(cluster: Cluster) -> None:
    scheduler = cluster.start_scheduler(
        "--leader-elect=false", "--percentage-nodes-to-find=20", "--enable-metrics", "-v=3", "--csi-storage=true"
    )
    for flag in ("--percentage-nodes-to-find", "--enable-metrics", "-v", "--csi-storage"):
        scheduler.wait_for_output(f"{flag} has no effect")
    cluster.create_pod("one")
    cluster.wait_until_bound("one")


def test_controllers_create_groups_and_stop_on_a_signal(cluster: Cluster) -> None:
    controller = cluster.start(
        "controller", "--listen-address=", "--healthz-address=", "--leader-elect-resource-namespace=kube-system"
    )
    controller.wait_for_output("leadership acquired")
    cluster.kubectl("run", "plain", "--image=example/main", '--overrides={"spec":{"schedulerName":"volcano"}}')
    wait_for(lambda: "podgroup-" in cluster.kubectl("get", "podgroups", "-o", "name"), "a group for the plain pod")
    controller.signal(signal.SIGINT)
    assert controller.ends() == 0
