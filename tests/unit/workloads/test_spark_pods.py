"""The resources of Spark's containers: what the application names comes before what its templates have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.inputs import expanded, pods_of, workload

GPU = {"requests": {"cpu": "9", "memory": "9Gi"}, "limits": {"cpu": "8", "nvidia.com/gpu": 1}}
TEMPLATE = {"spec": {"schedulerName": "volcano", "containers": [{"name": "any", "image": "i", "resources": GPU}]}}
MEMORY = "896Mi"


def resources_of(document: dict[str, Any], name: str) -> tuple[Any, Any]:
    found = expanded(document)
    assert not found.problems
    resources = (pods_of(found)[name].spec.containers or [])[0].resources
    return (resources.requests, resources.limits) if resources else (None, None)


APPLICATIONS = [
    ("no template", {"cores": 2, "memory": "512m"}, {"cpu": "2", "memory": MEMORY}, {"memory": MEMORY}),
    ("template", {"memory": "512m", "template": TEMPLATE}, {"cpu": "1", "memory": MEMORY},
     {"cpu": "8", "memory": MEMORY, "nvidia.com/gpu": 1}),
    ("limit", {"coreRequest": "500m", "coreLimit": "1", "memory": "512m", "template": TEMPLATE},
     {"cpu": "500m", "memory": MEMORY}, {"cpu": "1", "memory": MEMORY, "nvidia.com/gpu": 1}),
]  # fmt: skip
NAMES = [case[0] for case in APPLICATIONS]


@pytest.mark.parametrize(("executor", "requests", "limits"), [c[1:] for c in APPLICATIONS], ids=NAMES)
def test_cores_and_memory_come_before_the_template(
    executor: dict[str, Any], requests: dict[str, Any], limits: dict[str, Any]
) -> None:
    document = workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 1, **executor}})
    assert resources_of(document, "train-exec-1") == (requests, limits)


SERVERS = [
    ("of the template", {"cores": 4}, ({"cpu": "9", "memory": "9Gi"}, {"cpu": "8", "nvidia.com/gpu": 1})),
    ("of the server", {"coreRequest": "2", "coreLimit": "3"},
     ({"cpu": "2", "memory": "9Gi"}, {"cpu": "3", "nvidia.com/gpu": 1})),
]  # fmt: skip


@pytest.mark.parametrize(("server", "resources"), [case[1:] for case in SERVERS], ids=[case[0] for case in SERVERS])
def test_server_has_the_cores_of_the_spark_connect(server: dict[str, Any], resources: tuple[Any, Any]) -> None:
    spec = {"server": {"template": TEMPLATE, **server}, "executor": {"instances": 0}}
    assert resources_of(workload("sparkoperator.k8s.io/v1alpha1", "SparkConnect", spec), "train-server") == resources
