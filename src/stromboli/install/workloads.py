"""Objects of a process: Deployment, PodDisruptionBudget and metrics Service.

The pods comply with the Pod Security Standard "restricted" and write only to emptyDir volumes. All replicas are warm; a
lease decides which of them is active.
"""

from __future__ import annotations

from typing import Any

from stromboli.install.installation import NAME, Installation, labels, selected
from stromboli.install.processes import HISTORY_CLAIM, InstalledProcess
from stromboli.visibility.questions import GROUP, VERSION

USER = 65532
"""A user ID that is not used elsewhere."""
Document = dict[str, Any]


def workload_documents(process: InstalledProcess, installation: Installation) -> list[Document]:
    documents = [_deployment(process, installation), _disruption_budget(process, installation)]
    if process.is_exclusive:
        documents.append(_claim(process, installation))
    if process.metrics_port is not None:
        documents.append(_service(process, process.metrics_port, installation))
    if process.console_port is not None:
        documents.append(_console_service(process, installation))
    return documents


def _deployment(process: InstalledProcess, installation: Installation) -> Document:
    spec: Document = {
        "replicas": installation.replicas if process.replicas is None else process.replicas,
        "selector": {"matchLabels": selected(process.component)},
        "template": {"metadata": {"labels": selected(process.component)}, "spec": _pod(process, installation)},
    }
    if process.is_exclusive:
        spec["strategy"] = {"type": "Recreate"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(process, installation),
        "spec": spec,
    }


def _claim(process: InstalledProcess, installation: Installation) -> Document:
    """The volume of the history, which outlives the pods."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**_metadata(process, installation), "name": HISTORY_CLAIM},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": installation.history_storage}},
        },
    }


def _pod(process: InstalledProcess, installation: Installation) -> Document:
    pod: Document = {
        "serviceAccountName": process.name,
        "automountServiceAccountToken": True,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": _apart(process),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(process, installation)],
    }
    if process.mounts:
        pod["volumes"] = list(process.mounts.values())
    return pod


def _container(process: InstalledProcess, installation: Installation) -> Document:
    ports = {
        "metrics": process.metrics_port, "health": process.health_port, "visibility": process.visibility_port,
        "console": process.console_port,
    }  # fmt: skip
    probe = {"port": "health"} if process.health_port else {"port": "console", "scheme": "HTTPS"}
    container: Document = {
        "name": process.component,
        "image": installation.image,
        "imagePullPolicy": "IfNotPresent",
        "args": [process.component, *process.arguments],
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items() if port],
        "startupProbe": _probe("/livez", probe, periodSeconds=2, failureThreshold=60),
        "livenessProbe": _probe("/livez", probe, periodSeconds=10, failureThreshold=3),
        "readinessProbe": _probe("/readyz", probe, periodSeconds=5, failureThreshold=3),
        "resources": {"requests": process.requests, "limits": process.limits},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if process.environment:
        container["env"] = list(process.environment)
    if process.mounts:
        container["volumeMounts"] = [
            {"name": volume["name"], "mountPath": path} for path, volume in process.mounts.items()
        ]
    return container


def _probe(path: str, place: Document, **numbers: int) -> Document:
    return {"httpGet": {"path": path, **place}, **numbers}


def _apart(process: InstalledProcess) -> Document:
    """Prefer different nodes for the replicas; a cluster of one node runs both."""
    term = {"labelSelector": {"matchLabels": selected(process.component)}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
        }
    }


def _disruption_budget(process: InstalledProcess, installation: Installation) -> Document:
    """Nodes can be drained one by one, even with a single replica."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(process, installation),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selected(process.component)},
        },
    }


def _service(process: InstalledProcess, port: int, installation: Installation) -> Document:
    """A headless service: metrics are collected from every replica."""
    metadata = _metadata(process, installation)
    scraped = {"scrape": "true", "port": str(port), "scheme": "https"}
    metadata["annotations"] = {f"prometheus.io/{name}": value for name, value in scraped.items()}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": "None",
            "selector": selected(process.component),
            "ports": [{"name": "metrics", "port": port, "targetPort": "metrics"}],
        },
    }


def _console_service(process: InstalledProcess, installation: Installation) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(process, installation),
        "spec": {
            "selector": selected(process.component),
            "ports": [{"name": "console", "port": 443, "targetPort": "console"}],
        },
    }


def visibility_documents(installation: Installation) -> list[Document]:
    """The aggregated API of the scheduler: a Service, and what makes API servers forward its requests there.

    The certificate of the scheduler is made at its start, so that the API server cannot verify it; it sends no secrets,
    and the scheduler verifies the API server by its client certificate.
    """
    name = f"{NAME}-visibility"
    service = {"name": name, "namespace": installation.namespace}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**service, "labels": labels("scheduler")},
            "spec": {
                "selector": selected("scheduler"),
                "ports": [{"name": "visibility", "port": 443, "targetPort": "visibility"}],
            },
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{VERSION}.{GROUP}", "labels": labels("scheduler")},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {**service, "port": 443},
                "insecureSkipTLSVerify": True,
            },
        },
    ]


def _metadata(process: InstalledProcess, installation: Installation) -> Document:
    return {"name": process.name, "namespace": installation.namespace, "labels": labels(process.component)}
