"""Pods of Jobs in manifests, as the controller of Jobs creates them.

A Job with a status was read from a cluster: its pods are there as well, and it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import as_type, name_of
from stromboli.kube.objects.workloads import BatchJob

MAX_PODS = 10_000
_INHERITED = "volcano.sh/"


def is_job(document: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(document, Mapping) and (document.get("apiVersion"), document.get("kind")) == ("batch/v1", "Job")


def pods_of_job(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents of the pods that run at once; later ones are not created. Raises ObjectError."""
    job = as_type(document, BatchJob)
    spec, template = job.spec, job.spec.template or {}
    if document.get("status") or spec.suspend:
        return []
    number = 1 if spec.parallelism is None else spec.parallelism
    number = number if spec.completions is None else min(number, spec.completions)
    if number > MAX_PODS:
        message = f"{number} pods are more than {MAX_PODS}"
        raise ObjectError("Job", name_of(document), "spec.parallelism", message, "write a smaller number")
    if not isinstance(template.get("spec"), Mapping):
        raise ObjectError("Job", name_of(document), "spec.template.spec", "is missing", "write the spec of its pods")
    return [_pod(job, template, index) for index in range(number)]


def _pod(job: BatchJob, template: Mapping[str, Any], index: int) -> dict[str, Any]:
    own, metadata = template.get("metadata") or {}, job.metadata
    inherited = {key: value for key, value in (metadata.annotations or {}).items() if _INHERITED in key}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata.name, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata.name}-{index}",
            "namespace": metadata.namespace or None,
            "labels": own.get("labels"),
            "annotations": {**inherited, **(own.get("annotations") or {})},
            "creationTimestamp": metadata.creation_timestamp,
            "ownerReferences": [{**owner, "uid": metadata.uid or f"Job/{metadata.name}"}],
        },
        "spec": template["spec"],
    }
