"""The cluster of the tutorials: `stromboli up`, or the processes of an installation on a real API server.

On the real server the processes have the permissions of an installation, the controllers of Kubernetes are those of a
kube-controller-manager, and kubelets are simulated.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import JOB_FLOWS, PODS, VOLCANO_CRON_JOBS, VOLCANO_JOBS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano_jobs import JobFlow, VolcanoCronJob, VolcanoJob
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from tests.e2e.volcano.world import running_world
from tests.integration.processes.conftest import Command
from tests.testing.planes import SERVER, fresh_plane

MANIFESTS = Path(__file__).parent / "manifests"
NAMESPACE = "default"
_BIN = Path(sys.executable).parent
_DEADLINE = 60.0

T = TypeVar("T")


class TutorialCluster:
    """A user's view of a cluster: kubectl, `stromboli`, and the objects."""

    def __init__(
        self, kubeconfig: Path, client: Client, logs: Callable[[], str], kill: Callable[[], None] = lambda: None
    ) -> None:
        self.client = client
        #: Kills the controllers and starts them again; in the local cluster they are no process of their own.
        self.kill_controllers = kill
        self._logs = logs
        home = {"HOME": str(kubeconfig.parent), "PATH": f"{_BIN}:{os.environ['PATH']}"}
        self._environment = {**home, "KUBECONFIG": str(kubeconfig), "STROMBOLI_KUBECONFIG": str(kubeconfig)}

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        return await self._run("kubectl", *words, stdin=stdin)

    async def stromboli(self, *words: str) -> str:
        return await self._run("stromboli", *words)

    async def apply(self, name: str, **replaced: str) -> None:
        """Apply a manifest, with some of its words replaced."""
        text = (MANIFESTS / f"{name}.yaml").read_text()
        for word, other in replaced.items():
            text = text.replace(word, other)
        await self.kubectl("apply", "-f", "-", stdin=text)

    async def _run(self, program: str, *words: str, stdin: str = "") -> str:
        pipe = asyncio.subprocess.PIPE
        running = await asyncio.create_subprocess_exec(
            _BIN / program, *words, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment
        )
        async with asyncio.timeout(_DEADLINE):
            output, errors = await running.communicate(stdin.encode())
        assert running.returncode == 0, f"{program} {' '.join(words)}: {errors.decode()}{output.decode()}"
        return output.decode()

    # -- objects --------------------------------------------------------------------------------------------------

    async def job(self, name: str) -> VolcanoJob:
        return await self.client.get(VOLCANO_JOBS, name, namespace=NAMESPACE)

    async def jobs_of(self, kind: str, name: str) -> list[VolcanoJob]:
        found = (await self.client.list(VOLCANO_JOBS, namespace=NAMESPACE)).items
        return [
            job
            for job in found
            if any(owner.kind == kind and owner.name == name for owner in job.metadata.owner_references or ())
        ]

    async def flow(self, name: str) -> JobFlow:
        return await self.client.get(JOB_FLOWS, name, namespace=NAMESPACE)

    async def cron_job(self, name: str) -> VolcanoCronJob:
        return await self.client.get(VOLCANO_CRON_JOBS, name, namespace=NAMESPACE)

    async def pods_of(self, job: str) -> dict[str, Pod]:
        """The pods of a Job that are not being deleted, by name without that of the Job."""
        selector = f"volcano.sh/job-name={job}"
        found = (await self.client.list(PODS, namespace=NAMESPACE, label_selector=selector)).items
        return {
            pod.metadata.name.removeprefix(f"{job}-"): pod for pod in found if pod.metadata.deletion_timestamp is None
        }

    # -- waiting --------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], Awaitable[T]], what: str) -> T:
        deadline = time.monotonic() + _DEADLINE
        while not (answer := await condition()):
            assert time.monotonic() < deadline, f"waited in vain for {what}\n{self._logs()}"
            await asyncio.sleep(0.1)
        return answer

    async def until_phase(self, job: str, phase: str) -> VolcanoJob:
        async def reached() -> VolcanoJob | None:
            found = await self.job(job)
            seen.append(found.status.state.phase or "")
            return found if seen[-1] == phase else None

        seen: list[str] = []
        found = await self.until(reached, f"phase {phase} of {job}")
        assert found is not None
        return found


@contextlib.asynccontextmanager
async def tutorial_cluster(folder: Path) -> AsyncIterator[TutorialCluster]:
    async with _local(folder) if SERVER == "embedded" else _real(folder) as cluster:
        yield cluster


@contextlib.asynccontextmanager
async def _local(folder: Path) -> AsyncIterator[TutorialCluster]:
    kubeconfig = folder / "kubeconfig"
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    command = Command("up", "--kubeconfig", str(kubeconfig), environment=environment, folder=folder)
    try:
        await asyncio.to_thread(command.wait_for_output, "A local cluster")
        async with Client(load_kubeconfig(str(kubeconfig))) as client:
            yield TutorialCluster(kubeconfig, client, lambda: command.output[-3000:])
    finally:
        command.kill()


@contextlib.asynccontextmanager
async def _real(folder: Path) -> AsyncIterator[TutorialCluster]:
    with fresh_plane() as plane:
        async with running_world(plane, folder) as world:
            await world.use("default")
            await create_nodes(world.client, node_documents(NodePool(4)))
            yield TutorialCluster(plane.kubeconfig, world.client, lambda: world.logs, world.kill_controller)
