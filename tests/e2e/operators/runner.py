"""Runs a controller of another project against a cluster, over HTTP and as its own user.

After every step all fields that the controller wrote must be unchanged.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.objects.catalogue import NODES, PODS
from tests.e2e.environment.cluster import Cluster
from tests.e2e.operators.cases import GROUP_VERSION, Change, Named, OperatorCase, Step
from tests.e2e.operators.expectations import Expectations
from tests.e2e.operators.foreign_objects import Document, losses

#: Built-in kinds, with the parts of their paths.
_PLURALS = {
    ("v1", "Pod"): "pods",
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "Service"): "services",
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("batch/v1", "Job"): "jobs",
    (GROUP_VERSION, "PodGroup"): "podgroups",
}
#: The fake Kubernetes controllers write to these as well.
_WATCHED_BY_OTHERS = ("apps/v1", "batch/v1")
_UID = re.compile(r"\$\(uid ([^)]+)\)")


class CaseRunner:
    def __init__(self, cluster: Cluster, case: OperatorCase, controller: Client) -> None:
        self._cluster = cluster
        self._case = case
        self._controller = controller
        self._plurals = _PLURALS | {(f"{k.group}/{k.version}", k.kind): k.plural for k in case.kinds}
        self._manager = case.user.rpartition(":")[2]
        #: What the controller wrote last, by path, and the uids by kind and name.
        self._written: dict[str, Document] = {}
        self._uids: dict[str, str] = {}
        self._occupiers: list[str] = []
        self._sights = Expectations(cluster)

    async def play(self) -> None:
        for number, step in enumerate(self._case.steps, 1):
            try:
                for word in step.each or [""]:
                    await self._do(await self._resolved(step, word))
            except (AssertionError, ApiError) as error:
                raise AssertionError(f"step {number} of {self._case.controller}: {error}") from error
            await self._check_traces()

    async def clear(self) -> None:
        """Remove what the controller created and no other controller removes: it would create pods in the next test."""
        for path, written in self._written.items():
            if written["kind"] not in ("Pod", "PodGroup"):
                with contextlib.suppress(ApiError):
                    await self._cluster.client.request("DELETE", path, body=b'{"propagationPolicy":"Background"}')

    async def _resolved(self, step: Step, word: str) -> Step:
        """The step with the words that are only known now."""
        text = msgspec.json.encode(step).decode()
        text = text.replace("$(each)", word).replace("$(role each)", word.rpartition("-")[0])
        for name in set(_UID.findall(text)):
            text = text.replace(f"$(uid {name})", await self._uid(name))
        return msgspec.json.decode(text, type=Step)

    async def _uid(self, name: str) -> str:
        """Of an object that the controller made, or of a pod that others made for it."""
        if name not in self._uids:
            kind, _, pod = name.partition("/")
            assert kind == "Pod", f"{name} was not created by any step"
            await self._cluster.until(lambda: self._exists(pod), f"there is a pod {pod}")
            self._uids[name] = (await self._cluster.pods())[pod].metadata.uid
        return self._uids[name]

    async def _exists(self, pod: str) -> bool:
        return pod in await self._cluster.pods()

    async def _do(self, step: Step) -> None:
        if step.create is not None:
            await self._create(step.create)
        if step.apply is not None:
            await self._apply(step.apply)
        if step.update is not None:
            await self._update(step.update)
        if step.delete is not None:
            await self._delete(step.delete)
        if step.occupy:
            await self._occupy(step.occupy)
        if step.release:
            await self._release()
        await self._sights.look(step, self._uid)

    # -- what the controller does -------------------------------------------------------------------------------

    async def _create(self, document: Document) -> None:
        path = self._path(document["apiVersion"], document["kind"])
        self._keep(await self._send("POST", path, document))

    async def _apply(self, document: Document) -> None:
        path = self._path(document["apiVersion"], document["kind"], document["metadata"]["name"])
        self._keep(await self._send("PATCH", path, document, PatchKind.APPLY.value, force="true"))

    async def _update(self, change: Change) -> None:
        """Update with optimistic locking: after a conflict the object is read again."""
        path = self._path(change.api_version, change.kind, change.name)
        while True:
            found = msgspec.json.decode(await self._controller.request("GET", path))
            try:
                self._keep(await self._send("PUT", path, _merged(found, change.change)))
            except ApiError as error:
                if not error.is_conflict:
                    raise
            else:
                return

    async def _delete(self, gone: Named) -> None:
        path = self._path(gone.api_version, gone.kind, gone.name)
        await self._controller.request("DELETE", path, body=b'{"propagationPolicy":"Background"}')
        self._written.pop(path, None)

    async def _send(
        self, method: str, path: str, document: Document, kind: str = "application/json", **params: str
    ) -> Document:
        query = {"fieldManager": self._manager, **params}
        body = msgspec.json.encode(document)
        answer = await self._controller.request(method, path, params=query, body=body, content_type=kind)
        return dict(msgspec.json.decode(answer))

    def _keep(self, document: Document) -> None:
        kind, name = document["kind"], document["metadata"]["name"]
        self._written[self._path(document["apiVersion"], kind, name)] = document
        self._uids[f"{kind}/{name}"] = document["metadata"]["uid"]

    def _path(self, api_version: str, kind: str, name: str = "") -> str:
        plural = self._plurals[api_version, kind]
        root = "/apis" if "/" in api_version else "/api"
        path = f"{root}/{api_version}/namespaces/{self._cluster.namespace}/{plural}"
        return f"{path}/{name}" if name else path

    # -- what else happens --------------------------------------------------------------------------------------

    async def _occupy(self, nodes: int) -> None:
        """Fill this number of nodes with pods of another scheduler."""
        for node in (await self._cluster.client.list(NODES)).items[:nodes]:
            name = f"occupier-{node.metadata.name}"
            container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "4"}}}
            body = {"metadata": {"name": name}, "spec": {"nodeName": node.metadata.name, "containers": [container]}}
            await self._cluster.client.create(PODS, body, namespace=self._cluster.namespace)
            self._occupiers.append(name)

    async def _release(self) -> None:
        for name in self._occupiers:
            await self._cluster.client.delete(PODS, name, namespace=self._cluster.namespace, grace_period=0)
        self._occupiers.clear()

    async def _check_traces(self) -> None:
        """No field that the controller wrote is lost at any time."""
        for path, written in self._written.items():
            if written["apiVersion"] not in _WATCHED_BY_OTHERS:
                found = msgspec.json.decode(await self._cluster.client.request("GET", path))
                lost = losses(written, found)
                assert not lost, "; ".join(lost)


def _merged(document: Any, change: Any) -> Any:
    """The document with a change: objects are merged, null removes, everything else is replaced."""
    if not isinstance(change, dict) or not isinstance(document, dict):
        return change
    merged = dict(document)
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(document.get(key), value)
    return merged
