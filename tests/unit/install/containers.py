"""A container of a Deployment as a local process."""

from __future__ import annotations

import contextlib
import os
import ssl
import subprocess
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

from testbed.ports import free_ports

TIMEOUT_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Running:
    """A process, and the addresses of its probes."""

    process: subprocess.Popen[bytes]
    probes: frozenset[str]
    log: Path
    ports: dict[str, int]

    def until(self, reached: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not reached():
            assert self.process.poll() is None, f"it ended: {self.log.read_text()}"
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.log.read_text()}"
            time.sleep(0.2)

    def is_well(self) -> bool:
        """Report whether all probes succeed."""
        return all(_answers(probe) for probe in self.probes)

    def metrics_status(self, token: str = "") -> int:
        """Request the metrics, with this token; returns the status code."""
        unverified = ssl._create_unverified_context()  # noqa: S323 - the certificate is made in memory
        connection = HTTPSConnection("127.0.0.1", self.ports["metrics"], timeout=30, context=unverified)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse().status


def _moved(argument: str, mounts: tuple[str, ...], folder: Path) -> str:
    """Return the argument with the folder instead of a mount path, replaced once: the folder may contain that path."""
    mount = next((each for each in mounts if each in argument), None)
    return argument if mount is None else argument.replace(mount, f"={folder}/")


@contextlib.contextmanager
def running(
    container: dict[str, Any], folder: Path, kubeconfig: Path, namespace: str, host: str = "127.0.0.1"
) -> Iterator[Running]:
    """The arguments are those of the container, except for ports and the folder of its files."""
    arguments, ports = list(container["args"]), {}
    for port in container["ports"]:
        [ours] = free_ports(1)
        ports[port["name"]] = ours
        arguments = [each.replace(f"=:{port['containerPort']}", f"={host}:{ours}") for each in arguments]
    mounts = tuple(f"={mount['mountPath']}/" for mount in container.get("volumeMounts", ()))
    arguments = [_moved(each, mounts, folder) for each in arguments]
    environment = {
        "PATH": os.environ["PATH"],
        "STROMBOLI_KUBECONFIG": str(kubeconfig),
        "STROMBOLI_LEADER_ELECT_RESOURCE_NAMESPACE": namespace,
    }
    command = [str(Path(sysconfig.get_path("scripts")) / "stromboli"), *arguments]
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    addresses = frozenset(f"http://127.0.0.1:{ports[probe['port']]}{probe['path']}" for probe in probes)
    try:
        yield Running(process, addresses, log, ports)
        process.terminate()
        assert process.wait(TIMEOUT_SECONDS) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def _answers(address: str) -> bool:
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(address, timeout=5) as answer,  # noqa: S310 - an address of ours
    ):
        return bool(answer.status == 200)
    return False
