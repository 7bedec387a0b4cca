"""Answers from the cache and the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from stromboli.console.documents.history import HistoryRows
from stromboli.console.documents.job import JobAttempts, JobDetail
from stromboli.console.documents.jobs import JobRowsPage
from stromboli.console.documents.nodes import NodeDetail
from stromboli.console.documents.overview import ConsoleOverview, TimeSeries
from stromboli.console.documents.plans import PolicyView
from stromboli.console.routes import YAML
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.server.problems import NotReady
from stromboli.console.views.alarms import alarms_of
from stromboli.console.views.history import HistoryReader, history_rows, job_attempts, seconds, wanted_history
from stromboli.console.views.job import job_detail, resource_of
from stromboli.console.views.jobs import WantedRows, job_rows, job_table
from stromboli.console.views.nodes import node_detail, node_table, topology_view
from stromboli.console.views.overview import overview_of, series_of
from stromboli.console.views.queues import queue_tree
from stromboli.console.views.view import NotFound, NotPermitted, PersonView
from stromboli.history.query import HistoryPage
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.client.redaction import redact
from stromboli.kube.manifests.yaml import dump_documents
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.resources import Resource

#: Answers that depend on the frame, the rights of the person and the query alone, and are kept.
FRAME_ANSWERS: dict[str, Callable[[PersonView, dict[str, str]], msgspec.Struct]] = {
    "getQueues": lambda view, query: queue_tree(view),
    "getJobTable": lambda view, query: job_table(view),
    "getNodes": lambda view, query: node_table(view),
    "getTopology": lambda view, query: topology_view(view, query.get("name", "")),
}


class ConsoleReads:
    """`history` is None without one."""

    def __init__(self, client: Client, history: HistoryReader | None) -> None:
        self._client, self._history = client, history

    async def overview(self, call: ConsoleCall) -> ConsoleOverview:
        view, cache, now = await call.view(), call.state.cache, call.state.now()
        return overview_of(view, now, alarms_of(view, now, cache.problems, cache.policy_problem))

    async def series(self, call: ConsoleCall) -> TimeSeries:
        return series_of(await call.view(), call.state.series, seconds(call.query, "since") or 0.0)

    async def jobs(self, call: ConsoleCall) -> JobRowsPage:
        wanted = WantedRows.parse(call.query)
        return job_rows(await call.view(), wanted)

    async def job(self, call: ConsoleCall) -> JobDetail:
        return job_detail(await call.view(), key_of(call))

    async def node(self, call: ConsoleCall) -> NodeDetail:
        return node_detail(await call.view(), call.part("node"))

    async def policy(self, call: ConsoleCall) -> PolicyView:
        if not (await call.rights()).known.policy:
            raise NotPermitted("you may not read the policy of the scheduler; ask for the ClusterRole stromboli-viewer")
        return PolicyView(text=redact(call.state.cache.policy_text), source=call.state.cache.policy_source)

    async def yaml(self, call: ConsoleCall) -> web.Response:
        """Return the object of a job, or a pod of it, as the API server has it, but without names of other namespaces.
        Raises NotFound, NotPermitted.
        """
        view, key, pod = await call.view(), key_of(call), call.query.get("pod", "")
        view.row(key)
        group = view.cluster.groups[key]
        namespace, name = group.metadata.namespace, group.metadata.name
        resource: Resource[Any] = resource_of(group)
        if pod:
            if pod not in {each.metadata.name for each in view.cluster.pods.of_job(key)}:
                raise NotFound(f"job {key} has no pod {pod}")
            resource, name = PODS, pod
        if not await call.reviewer.may(call.caller.person, "get", resource.group, resource.plural, namespace, name):
            raise NotPermitted(f"you may not get {resource.name} in namespace {namespace}")
        found = view.names.in_values(await self._object(resource, namespace, name))
        return web.Response(text=dump_documents([found]), content_type=YAML, charset="utf-8")

    async def _object(self, resource: Resource[Any], namespace: str, name: str) -> dict[str, Any]:
        """Return an object by a list of one: the console may list these kinds, as its watches do, and needs no more."""
        chosen = {"fieldSelector": f"metadata.name={name}"}
        try:
            answer = await self._client.request("GET", resource.path(namespace=namespace), params=chosen)
        except RequestFailed as error:
            raise NotReady(f"the object cannot be read: {error}") from error
        found = msgspec.json.decode(answer, type=_RawList).items
        if not found:
            raise NotFound(f"{resource.name} {namespace}/{name} does not exist any more")
        found[0].get("metadata", {}).pop("managedFields", None)
        return {"apiVersion": resource.api_version, "kind": resource.kind, **found[0]}

    # -- history ------------------------------------------------------------------------------------------------

    async def history(self, call: ConsoleCall) -> HistoryRows:
        wanted = wanted_history(call.query)
        if self._history is None:
            return history_rows(HistoryPage([]), call.state.now())
        rights = await call.rights(await asyncio.to_thread(self._history.namespaces))
        return history_rows(await asyncio.to_thread(self._history.jobs, wanted, rights.readable), call.state.now())

    async def attempts(self, call: ConsoleCall) -> JobAttempts:
        """Return what the history has about a job, which may be gone. Raises NotFound."""
        namespace, name = call.part("namespace"), call.part("podGroup")
        rights = await call.rights([namespace])
        if not rights.may_read(namespace):
            raise NotFound(f"no job {namespace}/{name}, or you may not read jobs in its namespace")
        view, now = call.state.view(rights), call.state.now()
        if self._history is None:
            return job_attempts((), (), now, view.text)
        jobs, pods = await asyncio.to_thread(self._history.attempts, namespace, name.rpartition(":")[2])
        return job_attempts(jobs, pods, now, view.text)


class _RawList(msgspec.Struct):
    items: list[dict[str, Any]] = []


def key_of(call: ConsoleCall) -> str:
    return f"{call.part('namespace')}/{call.part('podGroup')}"
