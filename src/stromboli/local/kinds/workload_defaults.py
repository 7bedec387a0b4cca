"""Defaults of Jobs, Deployments, ReplicaSets and StatefulSets. Inputs are not changed."""

from __future__ import annotations

from typing import Any

from stromboli.local.api_server.store import Object
from stromboli.local.kinds.pods.defaults import defaulted_spec

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_JOB = {
    "backoffLimit": 6,
    "manualSelector": False,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}
_DEPLOYMENT = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
_STATEFUL_SET = {
    "replicas": 1,
    "podManagementPolicy": "OrderedReady",
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    "revisionHistoryLimit": 10,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
}
_SHARE = "25%"
#: Defaults of pods that templates do not get.
_OF_PODS_ALONE = "enableServiceLinks"


def defaulted_template(template: Object | None) -> Object:
    """A template with defaults."""
    found = template or {}
    spec = found.get("spec") or {}
    complete = defaulted_spec(spec)
    if spec.get(_OF_PODS_ALONE) is None:
        del complete[_OF_PODS_ALONE]
    return {**found, "spec": complete}


def defaulted_replica_set(spec: Object) -> Object:
    return _filled(spec, {"replicas": 1})


def defaulted_stateful_set(spec: Object) -> Object:
    return _filled(spec, _STATEFUL_SET)


def defaulted_deployment(spec: Object) -> Object:
    return {**_filled(spec, _DEPLOYMENT), "strategy": _strategy(spec.get("strategy") or {})}


def _strategy(strategy: Object) -> Object:
    complete = _present(strategy, {"type": "RollingUpdate"})
    if complete["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        complete["rollingUpdate"] = _present(rolling, {"maxUnavailable": _SHARE, "maxSurge": _SHARE})
    return complete


def defaulted_job(spec: Object, name: str, uid: str) -> Object:
    """A Job selects its pods by its uid, unless it has a manual selector."""
    complete = _filled(spec, _JOB)
    if spec.get("completions") is None and spec.get("parallelism") is None:
        complete["completions"] = 1
    complete = _present(complete, {"parallelism": 1})
    if complete["manualSelector"]:
        return complete
    selector = spec.get("selector") or {}
    wanted = {**(selector.get("matchLabels") or {}), CONTROLLER_UID: uid}
    template = complete["template"]
    metadata = template.get("metadata") or {}
    of_job = {CONTROLLER_UID: uid, "batch.kubernetes.io/job-name": name, "controller-uid": uid, "job-name": name}
    labels = {**(metadata.get("labels") or {}), **of_job}
    complete["selector"] = {**selector, "matchLabels": wanted}
    complete["template"] = {**template, "metadata": {**metadata, "labels": labels}}
    return complete


def _filled(spec: Object, defaults: dict[str, Any]) -> Object:
    return {**_present(spec, defaults), "template": defaulted_template(spec.get("template"))}


def _present(found: Object, defaults: dict[str, Any]) -> Object:
    """A null field counts as absent."""
    return {**found, **{key: value for key, value in defaults.items() if found.get(key) is None}}
