"""`kubectl create <kind>`, which sends protobuf."""

import pytest

from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.rich_job import CRON_JOB

COMMANDS: dict[str, tuple[str, ...]] = {
    "secret": ("generic", "s", "--from-literal=a=b"),
    "service": ("clusterip", "svc", "--tcp=80:8080"),
    "quota": ("q", "--hard=pods=5,requests.cpu=2"),
    "deployment": ("d", "--image=busybox", "--replicas=0"),
    "poddisruptionbudget": ("b", "--selector=app=x", "--min-available=50%"),
    "rolebinding": ("rb", "--role=r", "--user=me"),
}


def test_created_object_is_stored_unchanged(kubectl: Kubectl) -> None:
    """kubectl prints what it sends, and the server's response, which must contain all of it."""
    for kind, words in COMMANDS.items():
        sent = kubectl.json("create", kind, *words, "--dry-run=client")
        stored = kubectl.json("create", kind, *words)
        missing = list(not_in(without_empty(sent), stored))
        assert missing == [], kind


def test_every_field_of_pod_is_stored(kubectl: Kubectl) -> None:
    """A job created from a cron job sends its template, which the server received as JSON, back as protobuf."""
    kubectl("create", "-f", "-", stdin=CRON_JOB)
    kubectl("create", "job", "j", "--from=cronjob/rich")
    template = kubectl.json("get", "cronjob", "rich")["spec"]["jobTemplate"]["spec"]
    job = kubectl.json("get", "job", "j")["spec"]
    assert list(not_in(template, job)) == []
    more = not_in(job, template)
    assert [entry for entry in more if not entry.endswith(" is stored as None")] == [], (
        "the server adds, and changes nothing"
    )


def test_cluster_scoped_kinds(kubectl: Kubectl) -> None:
    assert kubectl("create", "namespace", "made-by-kubectl") == "namespace/made-by-kubectl created"
    kubectl("create", "priorityclass", "made-by-kubectl", "--value=-5", "--preemption-policy=Never")
    found = kubectl.stored("PriorityClass", "made-by-kubectl")
    assert (found["value"], found["preemptionPolicy"]) == (-5, "Never")
    assert kubectl("create", "job", "j", "--image=busybox") == "job.batch/j created"
    assert kubectl("run", "p", "--image=busybox") == "pod/p created"


@pytest.mark.only("embedded", because="it reads the binary form of the kinds that batch work touches alone")
def test_unknown_kind_is_named(kubectl: Kubectl) -> None:
    refusal = kubectl.refusal("create", "ingress", "i", "--rule=example.org/a=b:80")
    assert "Ingress is not understood in binary form: send JSON" in refusal


def without_empty(value: object) -> object:
    if isinstance(value, dict):
        fields = {name: without_empty(field) for name, field in value.items()}
        return {name: field for name, field in fields.items() if field not in (None, {}, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def not_in(sent: object, stored: object, path: str = "") -> list[str]:
    """The paths of values that are not stored as they were sent."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        return [lost for name in sent for lost in not_in(sent[name], stored.get(name), f"{path}.{name}")]
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        return [lost for place, item in enumerate(sent) for lost in not_in(item, stored[place], f"{path}[{place}]")]
    return [] if sent == stored else [f"{path}: {sent!r} is stored as {stored!r}"]
