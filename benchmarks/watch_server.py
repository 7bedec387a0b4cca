"""A server that only sends pod events, as fast as the client reads them.

It prints its address. The pods have a realistic size: 5.5 KB, most of which the scheduler does not read.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from aiohttp import web

#: Pods in the cluster, and how often each changes.
_KINDS = ("Pending", "Running", "Running", "Running")


def pod(number: int, version: int, phase: str) -> dict[str, object]:
    """A pod as controllers create and kubelets report it."""
    name = f"worker-{number:06}"
    environment = [{"name": f"SETTING_{place}", "value": f"value-{place}-" + "x" * 24} for place in range(16)]
    mounts = [{"name": f"volume-{place}", "mountPath": f"/mnt/{place}"} for place in range(4)]
    volumes = [{"name": f"volume-{place}", "configMap": {"name": f"map-{place}"}} for place in range(4)]
    fields: dict[str, object] = {f"f:field-{place}": {"f:part": {}, "f:other-part": {}} for place in range(29)}
    container = {
        "name": "main",
        "image": "registry.example/team/worker:1.2.3",
        "env": environment,
        "resources": {"requests": {"cpu": f"{1 + number % 8}", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
        "volumeMounts": mounts,
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-11-15T10:00:00Z"}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{number:012}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-15T10:00:00Z",
            "labels": {"app": "worker", "job": f"job-{number // 10}", "pod-template-hash": "5d8f7c6b9"},
            "annotations": {"scheduling.k8s.io/group-name": f"job-{number // 10}"},
            "managedFields": [
                {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}
                for manager in ("controller", "kubelet")
            ],
        },
        "spec": {
            "schedulerName": "volcano",
            "nodeName": f"node-{number % 1000:06}",
            "containers": [container],
            "volumes": volumes,
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            "serviceAccountName": "default",
        },
        "status": {"phase": phase, "conditions": conditions, "podIP": "10.0.0.1", "hostIP": "10.1.0.1"},
    }


def events(number: int) -> list[bytes]:
    """The lines of a watch with this number of events: pods appear, start, and are reported again."""
    lines = []
    pods = number // len(_KINDS)
    for version in range(number):
        turn, place = divmod(version, pods)
        kind = "ADDED" if turn == 0 else "MODIFIED"
        document = pod(place, version + 1, _KINDS[min(turn, len(_KINDS) - 1)])
        lines.append(msgspec.json.encode({"type": kind, "object": document}) + b"\n")
    return lines


async def main(number: int) -> None:
    lines = events(number)
    chunks = [b"".join(lines[start : start + 8]) for start in range(0, len(lines), 8)]

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"kind": "PodList", "metadata": {"resourceVersion": "0"}, "items": []})
        if "sendInitialEvents" in request.query:
            return web.json_response({"kind": "Status", "code": 422, "message": "sendInitialEvents"}, status=422)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        await asyncio.Event().wait()
        return response

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]} {sum(map(len, lines)) // number}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
