"""Rows of `kubectl get`."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stromboli.local.api_server.registry import PrinterColumn, ServedResource
from stromboli.local.discovery.printers.custom_columns import InvalidPath, compile_path, find
from stromboli.local.discovery.printers.durations import age, human_duration
from stromboli.local.discovery.tables import table, wants_table

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
Object = dict[str, Any]

DURATIONS = {
    -5: "<invalid>",
    -1: "0s",
    0: "0s",
    119: "119s",
    120: "2m",
    192: "3m12s",
    47 * 60: "47m",
    179 * 60: "179m",
    5 * 3600 + 180: "5h3m",
    7 * 3600: "7h",
    47 * 3600: "47h",
    50 * 3600: "2d2h",
    72 * 3600: "3d",
    30 * 86400: "30d",
    (2 * 365 + 40) * 86400: "2y40d",
    9 * 365 * 86400: "9y",
}


@pytest.mark.parametrize("seconds", DURATIONS)
def test_durations(seconds: int) -> None:
    assert human_duration(seconds) == DURATIONS[seconds]


def test_ages() -> None:
    assert age("2026-11-15T11:59:00Z", NOW) == "60s"
    assert age("2026-11-15T11:59:00.000000Z", NOW) == "60s"
    assert age(None, NOW) == age("yesterday", NOW) == age("", NOW) == "<unknown>"


def resource(group: str, plural: str, kind: str = "Thing", **more: Any) -> ServedResource:
    return ServedResource(group, "v1", plural, plural.removesuffix("s"), kind, f"{kind}List", True, **more)


def row(of: ServedResource, entry: Object) -> dict[str, Any]:
    """The cells of one object by column name."""
    shown = table(of, [{"metadata": {"name": "x", "creationTimestamp": "2026-11-15T11:55:00Z"}, **entry}], now=NOW)
    names = [definition["name"] for definition in shown["columnDefinitions"]]
    return dict(zip(names, shown["rows"][0]["cells"], strict=True))


PODS = resource("", "pods")
RUNNING = {"name": "a", "ready": True, "restartCount": 0, "state": {"running": {}}}
DONE = {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}


def status(**fields: Any) -> Object:
    return {"spec": {"containers": [{"name": "a"}]}, "status": fields}


POD_STATUSES: dict[str, tuple[Object, str]] = {
    "waiting to be scheduled": (status(phase="Pending"), "Pending"),
    "gated": (
        status(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
        "SchedulingGated",
    ),
    "running": (status(phase="Running", containerStatuses=[RUNNING]), "Running"),
    "pulling": (
        status(phase="Pending", containerStatuses=[{"state": {"waiting": {"reason": "ContainerCreating"}}}]),
        "ContainerCreating",
    ),
    "finished": (status(phase="Succeeded", containerStatuses=[DONE]), "Completed"),
    "failed with a reason": (
        status(phase="Failed", containerStatuses=[{"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]),
        "Error",
    ),
    "failed without one": (
        status(phase="Failed", containerStatuses=[{"state": {"terminated": {"exitCode": 3}}}]),
        "ExitCode:3",
    ),
    "killed": (
        status(phase="Failed", containerStatuses=[{"state": {"terminated": {"exitCode": 137, "signal": 9}}}]),
        "Signal:9",
    ),
    "rejected by the kubelet": (status(phase="Failed", reason="OutOfcpu"), "OutOfcpu"),
    "evicted": (status(phase="Failed", reason="Evicted"), "Evicted"),
    "going": (
        {**status(phase="Running", containerStatuses=[RUNNING]), "metadata": {"name": "x", "deletionTimestamp": "z"}},
        "Terminating",
    ),
    "going, but done": (
        {**status(phase="Succeeded", containerStatuses=[DONE]), "metadata": {"name": "x", "deletionTimestamp": "z"}},
        "Completed",
    ),
    "first init container running": (
        {
            "spec": {"initContainers": [{"name": "i"}, {"name": "j"}], "containers": [{"name": "a"}]},
            "status": {
                "phase": "Pending",
                "initContainerStatuses": [{"name": "i", "state": {"running": {}}}, {"name": "j"}],
            },
        },
        "Init:0/2",
    ),
    "init container crashing": (
        {
            "spec": {"initContainers": [{"name": "i"}], "containers": [{"name": "a"}]},
            "status": {
                "phase": "Pending",
                "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            },
        },
        "Init:CrashLoopBackOff",
    ),
    "nothing known": ({}, "Unknown"),
}


@pytest.mark.parametrize("name", POD_STATUSES)
def test_pod_status(name: str) -> None:
    entry, expected = POD_STATUSES[name]
    assert row(PODS, entry)["Status"] == expected


def test_pod_row() -> None:
    crashed = {**RUNNING, "restartCount": 3, "lastState": {"terminated": {"finishedAt": "2026-11-15T11:58:00Z"}}}
    entry = {
        "spec": {
            "containers": [{"name": "a"}, {"name": "b"}],
            "nodeName": "n1",
            "readinessGates": [{"conditionType": "R"}],
        },
        "status": {"phase": "Running", "containerStatuses": [crashed, {"ready": False}], "podIP": "10.0.0.1"},
    }
    assert row(PODS, entry) == {
        "Name": "x",
        "Ready": "1/2",
        "Status": "Running",
        "Restarts": "3 (2m ago)",
        "Age": "5m",
        "IP": "10.0.0.1",
        "Node": "n1",
        "Nominated Node": "<none>",
        "Readiness Gates": "0/1",
    }


CELLS: dict[str, tuple[str, str, Object, dict[str, Any]]] = {
    "node": (
        "",
        "nodes",
        {
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}},
            "spec": {"unschedulable": True},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.37.1"}},
        },
        {"Status": "Ready,SchedulingDisabled", "Roles": "gpu,worker", "Version": "v1.37.1", "OS-Image": "<unknown>"},
    ),
    "lost node": (
        "",
        "nodes",
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        {"Status": "NotReady", "Roles": "<none>"},
    ),
    "event": (
        "",
        "events",
        {
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": "0/1 nodes are available",
            "involvedObject": {"kind": "Pod", "name": "p"},
            "lastTimestamp": "2026-11-15T11:59:50Z",
            "firstTimestamp": "2026-11-15T11:00:00Z",
            "count": 3,
            "source": {"component": "stromboli"},
        },
        {"Last Seen": "10s (x3 over 60m)", "Object": "pod/p", "Source": "stromboli", "Count": 3},
    ),
    "event of the newer group": (
        "events.k8s.io",
        "events",
        {"note": "hello", "regarding": {"kind": "Queue", "name": "q"}, "eventTime": "2026-11-15T11:59:30.5Z"},
        {"Last Seen": "29s", "Object": "queue/q", "Message": "hello", "Count": 1},
    ),
    "deployment": (
        "apps",
        "deployments",
        {
            "spec": {
                "selector": {
                    "matchLabels": {"a": "1"},
                    "matchExpressions": [{"key": "b", "operator": "In", "values": ["2"]}],
                }
            }
        },
        {"Ready": "0/1", "Up-to-date": 0, "Selector": "a=1,b in (2)", "Images": "<none>"},
    ),
    "job": (
        "batch",
        "jobs",
        {
            "spec": {"completions": 3},
            "status": {"succeeded": 1, "startTime": "2026-11-15T11:59:00Z"},
        },
        {"Status": "Running", "Completions": "1/3", "Duration": "60s"},
    ),
    "finished job": (
        "batch",
        "jobs",
        {"spec": {"completions": 1}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
        {"Status": "Complete", "Completions": "0/1", "Duration": ""},
    ),
    "claim to a volume": (
        "",
        "persistentvolumeclaims",
        {
            "spec": {"storageClassName": "fast", "volumeName": "pv1", "volumeMode": "Filesystem"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
        },
        {"Status": "Bound", "Volume": "pv1", "Capacity": "1Gi", "Access Modes": "RWO", "StorageClass": "fast"},
    ),
    "volume": (
        "",
        "persistentvolumes",
        {"spec": {"claimRef": {"namespace": "d", "name": "c"}}, "status": {"phase": "Bound"}},
        {"Claim": "d/c", "VolumeAttributesClass": "<unset>"},
    ),
    "disruption budget": (
        "policy",
        "poddisruptionbudgets",
        {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
        {"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 1},
    ),
    "priority class": (
        "scheduling.k8s.io",
        "priorityclasses",
        {"value": 100},
        {"Value": 100, "Global-Default": False, "PreemptionPolicy": "PreemptLowerPriority"},
    ),
    "default storage class": (
        "storage.k8s.io",
        "storageclasses",
        {"metadata": {"name": "s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
        {"Name": "s (default)", "VolumeBindingMode": "Immediate", "AllowVolumeExpansion": "false"},
    ),
    "service": (
        "",
        "services",
        {"spec": {"clusterIP": "10.0.0.2", "ports": [{"port": 80, "nodePort": 30080}], "selector": {"a": "1"}}},
        {"Type": "ClusterIP", "Port(s)": "80:30080/TCP", "External-IP": "<none>", "Selector": "a=1"},
    ),
    "device claim": (
        "resource.k8s.io",
        "resourceclaims",
        {"status": {"allocation": {}, "reservedFor": [{"uid": "1"}]}},
        {"State": "allocated,reserved"},
    ),
    "quota": (
        "",
        "resourcequotas",
        {"status": {"hard": {"pods": "5", "limits.cpu": "2"}, "used": {"pods": "1"}}},
        {"Request": "pods: 1/5", "Limit": "limits.cpu: 0/2"},
    ),
    "a kind without columns": ("", "podtemplates", {}, {"Name": "x", "Age": "5m"}),
    "a field of the wrong type": ("apps", "deployments", {"spec": {"replicas": "many"}}, {"Ready": "<unknown>"}),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells(name: str) -> None:
    group, plural, entry, expected = CELLS[name]
    shown = row(resource(group, plural), entry)
    assert {column: shown[column] for column in expected} == expected


def test_custom_columns() -> None:
    columns = (
        PrinterColumn("STATUS", "string", ".status.phase"),
        PrinterColumn("minMember", "integer", ".spec.minMember"),
        PrinterColumn("SINCE", "date", ".metadata.creationTimestamp"),
        PrinterColumn("QUEUE", "string", ".spec.queue", priority=1),
    )
    groups = resource("scheduling.volcano.sh", "podgroups", is_custom=True, columns=columns)
    assert row(groups, {"spec": {"minMember": 3}, "status": {"phase": "Running"}}) == {
        "Name": "x",
        "STATUS": "Running",
        "minMember": 3,
        "SINCE": "5m",
        "QUEUE": None,
    }
    assert list(row(resource("x.io", "things", is_custom=True), {})) == ["Name", "Age"]


ENTRY = {
    "spec": {"tiers": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]},
    "metadata": {"labels": {"x/y": "1", "p.q": "2"}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}
JSON_PATHS = {
    ".spec.tiers[0].name": ["a"],
    ".spec.tiers[-1].name": ["b"],
    ".spec.tiers[7].name": [],
    ".spec.tiers[*].size": [1, 2],
    ".metadata.labels['x/y']": ["1"],
    r".metadata.labels.p\.q": ["2"],
    '.status.conditions[?(@.type=="Ready")].status': ["True"],
    ".status.conditions[?(@.type=='Gone')].status": [],
    "{.spec.nothing.there}": [],
}


@pytest.mark.parametrize("path", JSON_PATHS)
def test_json_paths(path: str) -> None:
    assert find(ENTRY, path) == JSON_PATHS[path]


def test_unsupported_json_path_is_named() -> None:
    with pytest.raises(InvalidPath, match="cannot read"):
        compile_path(".spec[?(@.size > 3)]")


ACCEPTS = {
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io": True,
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json": True,
    "application/json": False,
    "application/json, application/json;as=Table;v=v1;g=meta.k8s.io": False,
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json": False,
    "": False,
}


@pytest.mark.parametrize("accept", ACCEPTS)
def test_accept_header_of_table(accept: str) -> None:
    assert wants_table(accept) is ACCEPTS[accept]


def test_table_rows() -> None:
    entry = {"metadata": {"name": "x"}, "data": {"a": "1"}}
    maps = resource("", "configmaps", "ConfigMap")
    assert table(maps, [entry], now=NOW)["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert table(maps, [entry], now=NOW, include_object="Object")["rows"][0]["object"] == entry
    assert "object" not in table(maps, [entry], now=NOW, include_object="None")["rows"][0]
    later = table(maps, [entry], now=NOW, with_columns=False, metadata={"resourceVersion": "7"})
    assert later["columnDefinitions"] == []
    assert later["metadata"] == {"resourceVersion": "7"}
