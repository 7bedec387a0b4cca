"""The webhook as a process beside a real API server, and users who send requests to that server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from testbed.plane import ACCOUNTS, ControlPlane
from tests.integration.processes.conftest import DEADLINE, KUBECTL, STROMBOLI, Command

Document = dict[str, Any]
CONFIGURATION = "stromboli-test"


class Webhook:
    """One process and its registration. Requests of users are sent with kubectl."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        self._command: Command | None = None
        self.renew()

    def renew(self) -> None:
        """Create a new CA and certificate in the same files."""
        _stromboli("admission", "certificates", f"--folder={self.folder}", "--host=127.0.0.1")

    # -- the process ------------------------------------------------------------------------------------------------

    def start(self, *arguments: str, port: int = 0) -> None:
        """Start the process; returns when it is ready."""
        environment = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "STROMBOLI_KUBECONFIG": str(self.plane.kubeconfig_of("admission")),
        }
        self._command = Command(
            "admission",
            f"--tls-cert-file={self.folder / 'tls.crt'}",
            f"--tls-private-key-file={self.folder / 'tls.key'}",
            f"--path-secret-file={self.folder / 'path-secret'}",
            f"--webhook-address=127.0.0.1:{port}",
            "--listen-address=",
            "--healthz-address=",
            "--authorisation-ttl=0",
            f"--trusted-user={ACCOUNTS['controller']}",
            "--log-format=json",
            *arguments,
            environment=environment,
            folder=self.folder,
        )
        self._command.wait_for_output('"ready"')

    @property
    def port(self) -> int:
        assert self._command is not None
        lines = [json.loads(line) for line in self._command.output.splitlines() if line.startswith("{")]
        return next(int(line["address"].rpartition(":")[2]) for line in lines if "address" in line)

    @property
    def log(self) -> str:
        return self._command.output if self._command else ""

    def ask_to_stop(self) -> None:
        assert self._command is not None
        self._command.signal(signal.SIGTERM)
        self._command.wait_for_output("stopping")

    def ends(self) -> int:
        assert self._command is not None
        return self._command.ends()

    def stop(self) -> None:
        if self._command is not None:
            self._command.kill()
        self._command = None

    # -- its registration -------------------------------------------------------------------------------------------

    def register(self, *arguments: str) -> None:
        """Register the webhook; returns when the server calls it, which takes a moment."""
        text = _stromboli(
            "admission", "configuration", f"--url=https://127.0.0.1:{self.port}", f"--ca-file={self.folder / 'ca.crt'}",
            f"--path-secret-file={self.folder / 'path-secret'}", f"--name={CONFIGURATION}", "--timeout=30", *arguments,
        )  # fmt: skip
        assert self.kubectl("apply", "-f", "-", stdin=text).returncode == 0
        probe = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "probe"}}
        probe["spec"] = {"parent": "missing"}
        self.wait(lambda: "denied the request" in self.error_of(probe), "the server calls the webhook")

    def unregister(self) -> None:
        for kind in ("validatingwebhookconfiguration", "mutatingwebhookconfiguration"):
            self.kubectl("delete", kind, CONFIGURATION, "--ignore-not-found")

    # -- users --------------------------------------------------------------------------------------------------------

    def error_of(self, document: Document, *, user: str = "", verb: str = "create", dry: bool = True) -> str:
        """What kubectl prints on stderr for a request; empty if the server accepts it without a warning."""
        return self.kubectl(*_verb_options(verb, dry), "-f", "-", stdin=json.dumps(document), user=user).stderr

    def stores(self, document: Document, *, user: str = "", verb: str = "create", dry: bool = False) -> Document:
        """Send a request and return the stored object."""
        done = self.kubectl(*_verb_options(verb, dry), "-f", "-", "-o", "json", stdin=json.dumps(document), user=user)
        assert done.returncode == 0, done.stderr
        stored: Document = json.loads(done.stdout)
        return stored

    def kubectl(
        self, *arguments: str, stdin: str = "", user: str = "", groups: Sequence[str] = ("system:authenticated",)
    ) -> subprocess.CompletedProcess[str]:
        whom = [f"--as={user}", *(f"--as-group={each}" for each in groups)] if user else []
        return subprocess.run(
            [str(KUBECTL), f"--kubeconfig={self.plane.kubeconfig}", *whom, *arguments],
            input=stdin, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def wait(self, reached: Any, what: str, seconds: float = DEADLINE) -> None:
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, f"timed out: {what}\n{self.log}"
            time.sleep(0.1)


def _verb_options(verb: str, dry: bool) -> list[str]:
    return [verb, *(["--dry-run=server"] if dry else [])]


def _stromboli(*arguments: str) -> str:
    return subprocess.run([str(STROMBOLI), *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


@contextlib.contextmanager
def running_webhook(plane: ControlPlane, folder: Path) -> Iterator[Webhook]:
    """Set up a webhook that is not started yet, and remove all of it afterwards."""
    made = Webhook(plane, folder)
    try:
        yield made
    finally:
        made.unregister()
        made.stop()
