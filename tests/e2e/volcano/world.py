"""The cluster of these cases: controllers of Kubernetes, fake kubelets, and the processes of Stromboli.

On a real API server the controllers are those of a real kube-controller-manager, on the embedded one they are fakes.
All cases share the processes; each has its own namespace, queues and nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES, PRIORITY_CLASSES
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.controllers import FakeControllers
from stromboli.local.fakes.kubelet.commands import PODS_WITH_COMMANDS
from stromboli.local.fakes.kubelet.kubelets import Kubelets
from stromboli.local.fakes.kubelet.node_lifecycle import NodeLifecycle
from testbed.assets import NoAssets
from testbed.controller_manager import controller_manager
from testbed.plane import ControlPlane
from tests.e2e.environment.permissions import admit
from tests.e2e.volcano.cases import FOLDER
from tests.integration.processes.conftest import Command
from tests.testing.priority_classes import until_usable

#: Length of a second in the commands of pods.
SECOND = 0.1
PRIORITIES: dict[str, dict[str, Any]] = {
    "low": {"value": 10},
    "high": {"value": 100},
    "patient": {"value": 100, "preemptionPolicy": "Never"},
}
_LOADED = "configuration loaded"
_DEADLINE = 40.0
_BIN = Path(sys.executable).parent


class World:
    """The processes, and the policy that the scheduler runs."""

    def __init__(self, plane: ControlPlane, client: Client, folder: Path) -> None:
        self.plane = plane
        self.client = client
        self._file = folder / "volcano-scheduler.conf"
        self._folder = folder
        self._scheduler: Command | None = None
        self._controller: Command | None = None

    async def use(self, configuration: str) -> None:
        """Start the scheduler with a configuration file, or replace the file of the running one."""
        text = (FOLDER / "configurations" / f"{configuration}.conf").read_text()
        if self._scheduler is not None and self._file.read_text() == text:
            return
        self._file.write_text(text)
        before = 0
        if self._scheduler is None:
            self._scheduler = self._start("scheduler", f"--scheduler-conf={self._file}")
        else:
            before = self._scheduler.output.count(_LOADED)
            self._scheduler.signal(signal.SIGHUP)
        await self._until_loaded(self._scheduler, before)

    async def _until_loaded(self, scheduler: Command, before: int) -> None:
        deadline = time.monotonic() + _DEADLINE
        while scheduler.output.count(_LOADED) == before:
            assert time.monotonic() < deadline, f"the configuration was not loaded\n{scheduler.output}"
            await asyncio.sleep(0.02)

    def start_controller(self) -> None:
        self._controller = self._start("controller")

    def kill_controller(self) -> None:
        """Kill the controllers, as a power failure would, and start them again."""
        if self._controller is not None:
            self._controller.kill()
        self.start_controller()

    def _start(self, process: str, *arguments: str) -> Command:
        environment = {
            "HOME": str(self._folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "STROMBOLI_KUBECONFIG": str(self.plane.kubeconfig_of(process)),
        }
        return Command(
            process,
            "--scheduler-name=volcano",
            "--listen-address=",
            "--healthz-address=",
            "--leader-elect=false",
            *arguments,
            environment=environment,
            folder=self._folder,
        )

    async def type(self, command: str) -> tuple[int, str]:
        """Type a command as the administrator; return its exit code and what it prints."""
        kubeconfig = self.plane.kubeconfig
        environment = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent), "PATH": f"{_BIN}:/usr/bin:/bin"}
        running = await asyncio.create_subprocess_shell(
            command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=environment
        )
        printed = (await running.communicate())[0].decode()
        return running.returncode or 0, printed

    @property
    def logs(self) -> str:
        """The last lines of the processes, for failure messages."""
        return "\n".join(command.output[-3000:] for command in (self._scheduler, self._controller) if command)

    def stop(self) -> None:
        for command in (self._scheduler, self._controller):
            if command is not None:
                command.kill()


@contextlib.asynccontextmanager
async def running_world(plane: ControlPlane, folder: Path) -> AsyncIterator[World]:
    async with contextlib.AsyncExitStack() as stack:
        connection = load_kubeconfig(str(plane.kubeconfig))
        ours, fakes = [await stack.enter_async_context(Client(connection)) for _ in range(2)]
        await install_crds(ours)
        await admit(plane, ours)
        await _create_priorities(ours)
        stack.enter_context(_kubernetes(plane, folder))
        await stack.enter_async_context(_background(_fakes(plane, fakes)))
        world = World(plane, ours, folder)
        stack.callback(world.stop)
        world.start_controller()
        yield world


async def _create_priorities(client: Client) -> None:
    for name, facts in PRIORITIES.items():
        with contextlib.suppress(ApiError):
            await client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, **facts})
        await until_usable(client, name)


@contextlib.contextmanager
def _kubernetes(plane: ControlPlane, folder: Path) -> Iterator[None]:
    if plane.kind == "embedded":
        yield
        return
    try:
        with controller_manager(plane, folder):
            yield
    except NoAssets as missing:
        pytest.skip(str(missing))


async def _fakes(plane: ControlPlane, client: Client) -> None:
    """The kubelets; and on the embedded server all other controllers."""
    if plane.kind == "embedded":
        await FakeControllers(client, second=SECOND).run()
        return
    nodes, pods = Informer(client, NODES), Informer(client, PODS_WITH_COMMANDS)
    parts = (nodes, pods, Kubelets(client, nodes, pods, second=SECOND), NodeLifecycle(client, nodes, pods))
    async with asyncio.TaskGroup() as tasks:
        for part in parts:
            tasks.create_task(part.run())


@contextlib.asynccontextmanager
async def _background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
