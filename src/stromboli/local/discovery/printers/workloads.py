"""Columns of Deployments, ReplicaSets, StatefulSets, Jobs, Services and PodDisruptionBudgets."""

from __future__ import annotations

from datetime import datetime

from stromboli.local.discovery.printers.columns import (
    AGE,
    NAME,
    NONE,
    Cell,
    Field,
    Object,
    at,
    items,
    joined,
    labels_text,
    number,
    text,
)
from stromboli.local.discovery.printers.durations import age, human_duration, parse_time


def _containers(field: str) -> Field:
    def read(entry: Object, now: datetime) -> Cell:
        return joined(container.get(field, "") for container in items(entry, "spec", "template", "spec", "containers"))

    return Field("Containers" if field == "name" else "Images", read, priority=1)


def selector_text(selector: object) -> str:
    """A label selector in its text form."""
    if not isinstance(selector, dict) or not selector:
        return NONE
    parts = [f"{name}={value}" for name, value in sorted((selector.get("matchLabels") or {}).items())]
    parts += [_expression(entry) for entry in selector.get("matchExpressions") or ()]
    return ",".join(parts) or NONE


def _expression(entry: Object) -> str:
    key, values = entry.get("key", ""), ",".join(sorted(entry.get("values") or ()))
    match entry.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)


_CONTAINERS = _containers("name")
_IMAGES = _containers("image")
_SELECTOR = Field("Selector", lambda entry, now: selector_text(at(entry, "spec", "selector")), priority=1)


def _desired(entry: Object) -> int:
    replicas = at(entry, "spec", "replicas")
    return 1 if replicas is None else int(replicas)


def _ready_of_desired(entry: Object, now: datetime) -> Cell:
    return f"{at(entry, 'status', 'readyReplicas') or 0}/{_desired(entry)}"


DEPLOYMENTS = (
    NAME,
    Field("Ready", _ready_of_desired),
    Field("Up-to-date", number("status", "updatedReplicas"), type="string"),
    Field("Available", number("status", "availableReplicas"), type="string"),
    AGE,
    _CONTAINERS,
    _IMAGES,
    _SELECTOR,
)
REPLICA_SETS = (
    NAME,
    Field("Desired", lambda entry, now: _desired(entry), type="integer"),
    Field("Current", number("status", "replicas"), type="integer"),
    Field("Ready", number("status", "readyReplicas"), type="integer"),
    AGE,
    _CONTAINERS,
    _IMAGES,
    _SELECTOR,
)
STATEFUL_SETS = (NAME, Field("Ready", _ready_of_desired), AGE, _CONTAINERS, _IMAGES)
DAEMON_SETS = (
    NAME,
    Field("Desired", number("status", "desiredNumberScheduled"), type="integer"),
    Field("Current", number("status", "currentNumberScheduled"), type="integer"),
    Field("Ready", number("status", "numberReady"), type="integer"),
    Field("Up-to-date", number("status", "updatedNumberScheduled"), type="integer"),
    Field("Available", number("status", "numberAvailable"), type="integer"),
    Field("Node Selector", lambda entry, now: labels_text(at(entry, "spec", "template", "spec", "nodeSelector"))),
    AGE,
    _CONTAINERS,
    _IMAGES,
    _SELECTOR,
)


def _job_status(job: Object, now: datetime) -> Cell:
    true = {entry.get("type") for entry in items(job, "status", "conditions") if entry.get("status") == "True"}
    statuses = {"Complete": "Complete", "Failed": "Failed", "Suspended": "Suspended", "FailureTarget": "FailureTarget"}
    if at(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    found = next((status for condition, status in statuses.items() if condition in true), None)
    return found or ("SuccessCriteriaMet" if "SuccessCriteriaMet" in true else "Running")


def _completions(job: Object, now: datetime) -> Cell:
    succeeded = at(job, "status", "succeeded") or 0
    completions, parallelism = at(job, "spec", "completions"), at(job, "spec", "parallelism") or 0
    if completions is not None:
        return f"{succeeded}/{completions}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Object, now: datetime) -> Cell:
    start = parse_time(at(job, "status", "startTime"))
    if start is None:
        return ""
    end = parse_time(at(job, "status", "completionTime")) or now
    return human_duration((end - start).total_seconds())


JOBS = (
    NAME,
    Field("Status", _job_status),
    Field("Completions", _completions),
    Field("Duration", _job_duration),
    AGE,
    _CONTAINERS,
    _IMAGES,
    _SELECTOR,
)


def _last_schedule(entry: Object, now: datetime) -> Cell:
    last = at(entry, "status", "lastScheduleTime")
    return age(last, now) if last else NONE


CRON_JOBS = (
    NAME,
    Field("Schedule", text("spec", "schedule")),
    Field("Timezone", text("spec", "timeZone", default=NONE)),
    Field("Suspend", lambda entry, now: "True" if at(entry, "spec", "suspend") else "False"),
    Field("Active", lambda entry, now: len(items(entry, "status", "active")), type="integer"),
    Field("Last Schedule", _last_schedule),
    AGE,
)


def _ports(service: Object, now: datetime) -> Cell:
    ports = []
    for port in items(service, "spec", "ports"):
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}")
    return joined(ports)


def _external_address(service: Object, now: datetime) -> Cell:
    if at(service, "spec", "type") == "ExternalName":
        return at(service, "spec", "externalName") or NONE
    ingress = items(service, "status", "loadBalancer", "ingress")
    addresses = [entry.get("ip") or entry.get("hostname") for entry in ingress]
    addresses += items(service, "spec", "externalIPs")
    pending = "<pending>" if at(service, "spec", "type") == "LoadBalancer" else NONE
    return joined(addresses, pending)


SERVICES = (
    NAME,
    Field("Type", text("spec", "type", default="ClusterIP")),
    Field("Cluster-IP", text("spec", "clusterIP", default=NONE)),
    Field("External-IP", _external_address),
    Field("Port(s)", _ports),
    AGE,
    Field("Selector", lambda entry, now: labels_text(at(entry, "spec", "selector")), priority=1),
)

DISRUPTION_BUDGETS = (
    NAME,
    Field("Min Available", text("spec", "minAvailable", default="N/A")),
    Field("Max Unavailable", text("spec", "maxUnavailable", default="N/A")),
    Field("Allowed Disruptions", number("status", "disruptionsAllowed"), type="integer"),
    AGE,
)
