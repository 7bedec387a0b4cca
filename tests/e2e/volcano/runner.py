"""Runs one case: submits, changes and deletes objects, and waits for what must happen."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import (
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    HYPER_NODES,
    JOBS,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    REPLICA_SETS,
    RESOURCE_QUOTAS,
    STATEFUL_SETS,
)
from stromboli.kube.objects.resources import Resource
from stromboli.local.fakes.kubelet.node_health import NOT_READY, reports_conditions
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from tests.e2e.volcano.cases import Case, CaseStep, Nodes, Patch, Suite, Typed, load_suite
from tests.e2e.volcano.observations import Observer
from tests.e2e.volcano.workloads import Document, documents
from tests.e2e.volcano.world import World

_KINDS: tuple[Resource[Any], ...] = (
    JOBS, DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS, DISRUPTION_BUDGETS, RESOURCE_QUOTAS, PODS, POD_GROUPS, QUEUES,
    HYPER_NODES, NODES,
)  # fmt: skip
_RESOURCES: dict[str, Resource[Any]] = {kind.kind: kind for kind in _KINDS}
_NUMBERS = itertools.count(1)
_DEADLINE = 30.0
#: Results, and everything that is not to happen, must stay as observed for this time.
_SETTLED = 0.4


class CaseRunner:
    """A case with a namespace and nodes of its own."""

    def __init__(self, world: World, suite: str, case: str) -> None:
        self.namespace = f"volcano-{next(_NUMBERS)}"
        self._world = world
        self._client = world.client
        self._suite: Suite = load_suite(suite, self.namespace)
        self._case: Case = next(one for one in self._suite.cases if one.name == case)
        self._observer = Observer(world.client, self.namespace)
        #: Objects without a namespace, to be deleted at the end.
        self._global: list[tuple[str, str]] = []

    async def run(self) -> None:
        for number, step in enumerate(self._case.steps, 1):
            try:
                await self._do(step, is_last=number == len(self._case.steps))
            except (AssertionError, ApiError) as error:
                raise AssertionError(f"step {number} of {self._case.name}: {error}\n{self._world.logs}") from error

    async def prepare(self) -> None:
        await self._client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        for number, pool in enumerate(self._case.nodes or self._suite.nodes):
            await self._create_nodes(pool, number)
        for name, spec in self._case.queues.items():
            spec = dict(spec)
            annotations = spec.pop("annotations", {})
            await self._create({"kind": "Queue", "metadata": {"name": name, "annotations": annotations}, "spec": spec})
        await self._world.use(self._case.configuration or self._suite.configuration)

    async def clear(self) -> None:
        """Delete everything, so that it does not affect the next case."""
        for kind in _KINDS:
            if kind.namespaced:
                path = kind.path(namespace=self.namespace)
                now = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
                await self._client.request("DELETE", path, body=msgspec.json.encode(now))
        for kind_name, name in reversed(self._global):
            with contextlib.suppress(ApiError):
                await self._client.delete(_RESOURCES[kind_name], name)
        await self._client.delete(NAMESPACES, self.namespace)

    async def _create_nodes(self, pool: Nodes, number: int) -> None:
        facts = NodePool(pool.count, f"{self.namespace}-{number}", pool.resources, labels=pool.labels)
        found = node_documents(facts)
        for document in found:
            document["spec"] = {"taints": pool.taints}
            self._global.append(("Node", document["metadata"]["name"]))
        await create_nodes(self._client, found)
        for document in found:
            await self._until_ready(document["metadata"]["name"])

    async def _until_ready(self, name: str) -> None:
        """Wait until a kubelet has reported a new node as ready, and its taint is removed."""
        async with asyncio.timeout(_DEADLINE):
            while True:
                node = await self._client.get(NODES, name)
                if reports_conditions(node) and all(taint.key != NOT_READY for taint in node.spec.taints or ()):
                    return
                await asyncio.sleep(0.03)

    # -- steps --------------------------------------------------------------------------------------------------

    async def _do(self, step: CaseStep, *, is_last: bool) -> None:
        for document in (*step.create, *(one for workload in step.submit for one in documents(workload))):
            await self._create(document)
        if step.patch is not None:
            await self._patch(step.patch)
        for name in step.delete:
            await self._delete(name)
        if step.types is not None:
            await self._type(step.types)
        if step.expect or step.queues:
            waits = any(one.unbound or one.running == 0 for one in step.expect.values())
            await self._until_expected(step, _SETTLED if is_last or waits else 0.0)

    async def _create(self, document: Document) -> None:
        kind = _RESOURCES[document["kind"]]
        if not kind.namespaced:
            self._global.append((kind.kind, document["metadata"]["name"]))
        await self._client.create(kind, document, namespace=self.namespace if kind.namespaced else "")

    async def _patch(self, patch: Patch) -> None:
        kind = _RESOURCES[patch.kind]
        place = self.namespace if kind.namespaced else ""
        await self._client.patch(kind, patch.name, patch.body, namespace=place, subresource=patch.subresource)

    async def _delete(self, name: str) -> None:
        """Delete an object, as Kind/name."""
        kind_name, _, name = name.partition("/")
        kind = _RESOURCES[kind_name]
        place = self.namespace if kind.namespaced else ""
        await self._client.delete(kind, name, namespace=place)

    async def _type(self, typed: Typed) -> None:
        code, printed = await self._world.type(typed.command.replace("$(namespace)", self.namespace))
        assert (code != 0) == typed.fails, f"{typed.command}: exit code {code}\n{printed}"
        assert typed.prints in printed, f"{typed.command}: {typed.prints!r} is not in\n{printed}"

    async def _until_expected(self, step: CaseStep, settled: float) -> None:
        deadline = time.monotonic() + _DEADLINE
        since: float | None = None
        while True:
            found = await self._observer.differences(step.expect, step.queues)
            now = time.monotonic()
            since = None if found else since or now
            if since is not None and now - since >= settled:
                return
            assert not found or now < deadline, "; ".join(found)
            await asyncio.sleep(0.08)


@contextlib.asynccontextmanager
async def running_case(world: World, suite: str, case: str) -> AsyncIterator[CaseRunner]:
    runner = CaseRunner(world, suite, case)
    try:
        await runner.prepare()
        yield runner
    finally:
        await runner.clear()
