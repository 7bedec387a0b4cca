"""SparkApplications: the driver and its executors, with the PodGroup of the batch scheduler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stromboli.core.model.resources.quantity import format_quantity, parse_quantity
from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, CreatedWorkload, Expansion, ExpansionContext, checked_number
from stromboli.workloads.group_documents import group_document
from stromboli.workloads.pod_documents import (
    VOLCANO,
    created_document,
    member_annotations,
    owner_reference,
    pod_document,
)

ASSUMES = "that the operator creates with --enable-batch-scheduler, if their batchScheduler is volcano"
SPARK = "sparkoperator.k8s.io"
_MEMORY = re.compile(r"(\d+)([kmgtp]?)b?", re.IGNORECASE)
_UNITS = {"": 20, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_MIB = 1 << 20
#: What Spark adds for memory outside the heap: at least this, and this part of the memory.
_LEAST_OVERHEAD, _OF_JVM, _OF_OTHERS = 384 * _MIB, 0.1, 0.4
_DEFAULT_MEMORY, _DEFAULT_EXECUTORS = "1g", 2
#: Fields of driver and executor that are those of a pod.
_POD_FIELDS = ("affinity", "tolerations", "hostNetwork", "priorityClassName", "schedulerName", "initContainers")


def expand_spark_application(app: WorkloadDocument, context: ExpansionContext) -> Expansion:
    executors = checked_number(app, executors_of(app), "spec.executor.instances")
    is_cluster_mode = app.text("spec.mode", "cluster") == "cluster"
    driver_name = app.text("spec.driver.podName") or f"{app.name}-driver"
    driver = [CreatedObject(spark_pod(app, "driver", driver_name), "spec.driver")] if is_cluster_mode else []
    owner = owner_reference("v1", "Pod", driver_name) if is_cluster_mode else None
    pods = [
        CreatedObject(spark_pod(app, "executor", f"{app.name}-exec-{number}", number, owner), "spec.executor")
        for number in range(1, executors + 1)
    ]
    groups = [CreatedObject(_group(app, executors, is_cluster_mode))] if _is_grouped(app) else []
    notes = ["its executors are planned with its driver, which creates them when it runs"] if driver and pods else []
    return Expansion([*driver, *pods], groups, notes=notes)


def expand_scheduled_spark_application(scheduled: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the application of the next run. Its own name has the time of its run."""
    document = created_document(scheduled, "SparkApplication", scheduled.name, scheduled.map("spec.template"))
    notes = [next_run_note(scheduled, context, "spec.timeZone")]
    return Expansion(workloads=[CreatedWorkload(document, "spec.template")], notes=notes)


def _is_grouped(app: WorkloadDocument) -> bool:
    return app.text("spec.batchScheduler") == VOLCANO


def executors_of(app: WorkloadDocument) -> int:
    """Return the number of executors at the start."""
    if not app.flag("spec.dynamicAllocation.enabled"):
        return app.count("spec.executor.instances", _DEFAULT_EXECUTORS)
    bounds = [app.count(f"spec.dynamicAllocation.{name}Executors", 0) for name in ("initial", "min")]
    return max(*bounds, app.count("spec.executor.instances", 0))


def spark_pod(
    app: WorkloadDocument, role: str, name: str, number: int = 0, owner: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    path = f"spec.{role}"
    own = app.map(path)
    group = f"spark-{app.name}-pg"
    labels = {
        "spark-role": role,
        f"{SPARK}/{'connect-name' if app.kind[1] == 'SparkConnect' else 'app-name'}": app.name,
        f"{SPARK}/launched-by-spark-operator": "true",
        **({"spark-exec-id": str(number)} if number else {}),
        **app.texts(f"{path}.labels"),
    }
    annotations = {**app.texts(f"{path}.annotations"), **(member_annotations(group) if _is_grouped(app) else {})}
    spec: dict[str, Any] = {key: own[key] for key in _POD_FIELDS if own.get(key) is not None}
    selector = {**app.map("spec.nodeSelector"), **app.map(f"{path}.nodeSelector")}
    spec |= {"nodeSelector": selector} if selector else {}
    spec |= {"schedulerName": VOLCANO} if _is_grouped(app) else {}
    spec |= {"volumes": volumes} if (volumes := _volumes(app, path)) else {}
    spec["containers"] = [_container(app, role), *app.items(f"{path}.sidecars")]
    metadata = {part: app.texts(f"{path}.template.metadata.{part}") for part in ("labels", "annotations")}
    base = {"metadata": metadata, "spec": app.map(f"{path}.template.spec")}
    return pod_document(app, base, name, labels=labels, annotations=annotations, spec=spec, owner=owner)


def _volumes(app: WorkloadDocument, path: str) -> list[Mapping[str, Any]]:
    """Return the volumes of the application that driver or executors mount."""
    mounted = {each.get("name") for each in app.items(f"{path}.volumeMounts") if isinstance(each.get("name"), str)}
    return [each for each in app.items("spec.volumes") if isinstance(each.get("name"), str) and each["name"] in mounted]


def _container(app: WorkloadDocument, role: str) -> dict[str, Any]:
    """Return the container of Spark: the first of the template, if there is one, with Spark's resources."""
    path = f"spec.{role}"
    containers = app.items(f"{path}.template.spec.containers") or [{}]
    memory = format_quantity(_memory(app, path), milli=False, binary=True)
    requests = {"cpu": app.text(f"{path}.coreRequest") or _cores(app, path), "memory": memory}
    limits: dict[str, Any] = {"memory": memory}
    if limit := app.text(f"{path}.coreLimit"):
        limits["cpu"] = limit
    if name := app.text(f"{path}.gpu.name"):
        limits[name] = str(app.count(f"{path}.gpu.quantity", 0))
    image = app.text(f"{path}.image") or app.text("spec.image")
    named = {"name": f"spark-kubernetes-{role}", **({"image": image} if image else {})}
    return {**containers[0], **named, "resources": with_amounts(containers[0], requests, limits)}


def with_amounts(
    container: Mapping[str, Any], requests: Mapping[str, Any], limits: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the resources of a container with these amounts over those that its template has."""
    own = container.get("resources")
    parts = {"requests": requests, "limits": limits}
    if not isinstance(own, Mapping):
        return parts
    present = {name: own[name] for name in parts if isinstance(own.get(name), Mapping)}
    return {**own, **{name: {**present.get(name, {}), **amounts} for name, amounts in parts.items()}}


def _cores(app: WorkloadDocument, path: str) -> str:
    """Return the cores of a pod, 1 by default; early versions allow a fraction for the driver."""
    value = app.value(f"{path}.cores")
    return str(value) if isinstance(value, float) and value > 0 else str(app.count(f"{path}.cores", 1))


def _memory(app: WorkloadDocument, path: str) -> int:
    """Return the memory of a pod in bytes: the heap and what Spark adds to it."""
    heap = _java_size(app, f"{path}.memory", _DEFAULT_MEMORY)
    if app.text(f"{path}.memoryOverhead"):
        return heap + _java_size(app, f"{path}.memoryOverhead", "0")
    is_jvm = app.text("spec.type", "Scala") in ("Scala", "Java")
    text = app.text("spec.memoryOverheadFactor")
    try:
        factor = float(text) if text else _OF_JVM if is_jvm else _OF_OTHERS
    except ValueError:
        raise app.error("spec.memoryOverheadFactor", f"{text!r} is not a number", 'write one such as "0.1"') from None
    return heap + max(int(heap * factor) // _MIB * _MIB, _LEAST_OVERHEAD)


def _java_size(app: WorkloadDocument, path: str, default: str) -> int:
    text = app.text(path) or default
    found = _MEMORY.fullmatch(text)
    if found is None or len(found[1]) > 15:
        raise app.error(path, f"{text!r} is not a size of Java", "write one such as 512m or 4g")
    return int(found[1]) << _UNITS[found[2].lower()]


def _group(app: WorkloadDocument, executors: int, has_driver: bool) -> dict[str, Any]:
    options = "spec.batchSchedulerOptions"
    members = [("spec.driver", 1 if has_driver else 0), ("spec.executor", executors)]
    spec = {
        "minMember": 1,
        "minResources": app.map(f"{options}.resources") or _sum(app, members),
        "queue": app.text(f"{options}.queue"),
        "priorityClassName": app.text(f"{options}.priorityClassName"),
    }
    return group_document(app, f"spark-{app.name}-pg", spec)


def _sum(app: WorkloadDocument, members: list[tuple[str, int]]) -> dict[str, str]:
    """Return the minimum of resources as the operator computes it: it reads sizes of Java as quantities of Kubernetes,
    and leaves out those that are none.
    """
    total = {"cpu": 0, "memory": 0}
    for path, number in members:
        cores = app.value(f"{path}.cores")
        cpu = app.text(f"{path}.coreRequest") or (str(cores) if cores is not None else app.text(f"{path}.coreLimit"))
        total["cpu"] += number * _quantity(cpu, milli=True)
        memory = _quantity(app.text(f"{path}.memory"), milli=False)
        overhead = _quantity(app.text(f"{path}.memoryOverhead"), milli=False) if memory else 0
        total["memory"] += number * (memory + overhead)
    return {
        name: format_quantity(amount, milli=name == "cpu", binary=name == "memory")
        for name, amount in total.items()
        if amount
    }


def _quantity(text: str, *, milli: bool) -> int:
    try:
        return parse_quantity(text, milli=milli) if text else 0
    except ValueError:
        return 0
