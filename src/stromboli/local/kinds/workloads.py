"""Rules of Jobs, Deployments, ReplicaSets and StatefulSets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from stromboli.kube.objects.pod import Pod
from stromboli.local.api_server.errors import Cause, bad_request
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.pods.validation import pod_spec_causes
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.types import check_type
from stromboli.local.kinds.workload_defaults import (
    CONTROLLER_UID,
    defaulted_deployment,
    defaulted_job,
    defaulted_replica_set,
    defaulted_stateful_set,
)

_COUNTS = ("replicas", "parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished", "minReadySeconds")
_MISMATCH = "`selector` does not match template `labels`"
_IMMUTABLE_OF_JOBS = ("selector", "completions", "completionMode")


class _TemplateStrategy(KindStrategy):
    """Common rules: the selector matches the template's labels, and counts are not negative."""

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        if not isinstance(spec, dict):
            raise bad_request("spec: must be a map of keys and values")
        check_type(spec.get("template") or {}, Pod, resource.kind, resource.version)
        body["spec"] = self.complete(spec, body["metadata"])

    def complete(self, spec: Object, metadata: Object) -> Object:
        raise NotImplementedError

    def check(self, resource: ServedResource, body: Object) -> Iterator[Cause]:
        spec = body["spec"]
        for field in _COUNTS:
            if (value := spec.get(field)) is not None and value < 0:
                yield _invalid(field, value, "must be greater than or equal to 0")
        selector = spec.get("selector")
        if not selector:
            yield Cause("FieldValueRequired", "Required value", "spec.selector")
        template = spec["template"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        wanted = (selector or {}).get("matchLabels") or {}
        if not selector or any(labels.get(key) != value for key, value in wanted.items()):
            yield _invalid("template.metadata.labels", labels, _MISMATCH)
        yield from pod_spec_causes(template["spec"], "spec.template.spec")
        yield from self.check_restart_policy(template["spec"]["restartPolicy"])

    def check_restart_policy(self, policy: str) -> Iterator[Cause]:
        if policy != "Always":
            why = f'Unsupported value: "{policy}": supported values: "Always"'
            yield Cause("FieldValueNotSupported", why, "spec.template.spec.restartPolicy")

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        return _unchanged(old, new, ("selector",))


class SetStrategy(_TemplateStrategy):
    """Deployments, ReplicaSets and StatefulSets differ only in their defaults."""

    def __init__(self, complete: Callable[[Object], Object]) -> None:
        self._complete = complete

    def complete(self, spec: Object, metadata: Object) -> Object:
        return self._complete(spec)


class JobStrategy(_TemplateStrategy):
    """Deleting a Job orphans its pods unless a propagation policy is set, for compatibility."""

    propagation = "Orphan"

    def default(self, resource: ServedResource, body: Object) -> None:
        super().default(resource, body)
        metadata = body["metadata"]
        if not metadata.get("labels") and (labels := body["spec"]["template"].get("metadata", {}).get("labels")):
            metadata["labels"] = dict(labels)

    def complete(self, spec: Object, metadata: Object) -> Object:
        return defaulted_job(spec, str(metadata.get("name") or ""), metadata["uid"])

    def check(self, resource: ServedResource, body: Object) -> Iterator[Cause]:
        spec, uid = body["spec"], body["metadata"]["uid"]
        if not spec["manualSelector"] and spec["selector"]["matchLabels"] != {CONTROLLER_UID: uid}:
            yield _invalid("selector", spec["selector"], "`selector` not auto-generated")
        if spec["completionMode"] == "Indexed" and spec.get("completions") is None:
            why = "Required value: when completion mode is Indexed"
            yield Cause("FieldValueRequired", why, "spec.completions")
        yield from super().check(resource, body)

    def check_restart_policy(self, policy: str) -> Iterator[Cause]:
        if policy not in ("OnFailure", "Never"):
            why = 'Required value: valid values: "OnFailure", "Never"'
            yield Cause("FieldValueRequired", why, "spec.template.spec.restartPolicy")

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """The template is immutable, except for scheduling directives while a Job is suspended."""
        yield from _unchanged(old, new, _IMMUTABLE_OF_JOBS)
        if not old["spec"].get("suspend"):
            yield from _unchanged(old, new, ("template",))


def workload_strategies() -> dict[tuple[str, str], KindStrategy]:
    return {
        ("batch", "jobs"): JobStrategy(),
        ("apps", "deployments"): SetStrategy(defaulted_deployment),
        ("apps", "replicasets"): SetStrategy(defaulted_replica_set),
        ("apps", "statefulsets"): SetStrategy(defaulted_stateful_set),
    }


def _unchanged(old: Object, new: Object, fields: Iterable[str]) -> Iterator[Cause]:
    for field in fields:
        if old["spec"].get(field) != (value := new["spec"].get(field)):
            yield _invalid(field, value, "field is immutable")


def _invalid(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {msgspec.json.encode(value).decode()}: {why}", f"spec.{field}")
