"""A server, and the commands as processes beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.embedded import embedded_plane

ROOT = Path(__file__).parents[3]
STROMBOLI = Path(sys.executable).parent / "stromboli"
KUBECTL = Path(sys.executable).parent / "kubectl"
DEADLINE = 40.0


def wait_for(reached: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not reached():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


class Command:
    """A command of ours that runs."""

    def __init__(self, *arguments: str, environment: dict[str, str], folder: Path) -> None:
        self.log = folder / f"{'-'.join(arguments[:1])}-{time.monotonic_ns()}.log"
        with self.log.open("w") as output:
            self._process = subprocess.Popen(
                [str(STROMBOLI), *arguments], stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=ROOT
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    def wait_for_output(self, words: str) -> None:
        wait_for(lambda: words in self.output or self._process.poll() is not None, f"{words!r}")
        assert words in self.output, self.output

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ends(self) -> int:
        return self._process.wait(DEADLINE)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        if not self.has_ended:
            self.signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait()


class Cluster:
    """The server's kubeconfig, kubectl, and how to start commands."""

    def __init__(self, kubeconfig: str, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = kubeconfig
        home = {"HOME": str(folder), "PATH": os.environ["PATH"]}
        self.environment = {**home, "KUBECONFIG": kubeconfig, "COVERAGE_CORE": ""}
        self._commands: list[Command] = []

    def start(self, *arguments: str) -> Command:
        command = Command(*arguments, environment=self.environment, folder=self.folder)
        self._commands.append(command)
        return command

    def start_scheduler(self, *arguments: str) -> Command:
        """A scheduler that fights for a lease of two seconds."""
        times = ("--leader-elect-lease-duration=2s", "--leader-elect-renew-deadline=1500ms",
                 "--leader-elect-retry-period=200ms")  # fmt: skip
        return self.start("scheduler", *times, "--listen-address=", "--healthz-address=", *arguments)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [str(KUBECTL), *arguments], env=self.environment, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def create_pod(self, name: str) -> None:
        """A pod in a group of its own."""
        self.kubectl("apply", "-f", "-", stdin=POD.replace("NAME", name))

    def node_of(self, pod: str) -> str:
        return self.kubectl("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")

    def wait_until_bound(self, pod: str) -> None:
        wait_for(lambda: self.node_of(pod), f"{pod} to be bound")

    def kill_all(self) -> None:
        for command in self._commands:
            command.kill()


POD = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: NAME}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {scheduling.k8s.io/group-name: NAME}}
spec:
  schedulerName: stromboli
  containers: [{name: main, image: example/main, resources: {requests: {cpu: 100m}}}]
"""

NODE = """
apiVersion: v1
kind: Node
metadata: {name: node}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """An API server in a process of its own, with one node and Volcano's kinds."""
    with embedded_plane() as plane:
        running = Cluster(str(plane.kubeconfig), tmp_path)
        try:
            running.kubectl("apply", "-f", "-", stdin=NODE)
            running.kubectl("taint", "node", "node", "node.kubernetes.io/not-ready:NoSchedule-")
            yield running
        finally:
            running.kill_all()
