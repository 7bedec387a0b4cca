"""Events of the recorder, as kubectl lists, sorts, watches and describes them."""

from typing import Any

import msgspec
import pytest

from stromboli.kube.events.series import Series
from stromboli.kube.objects.event import ObjectReference
from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.manifests import node, pod, pod_group, queue


def recorded(kubectl: Kubectl, kind: str, name: str, note: str, second: int = 0) -> dict[str, Any]:
    """The event as our processes write it."""
    about = kubectl.stored(kind, name)
    metadata = about["metadata"]
    place = ObjectReference(about["apiVersion"], kind, metadata.get("namespace"), name, metadata["uid"])
    series = Series(place, "Warning", "Evicted", note, "", None, first=f"2026-01-01T00:00:{second:02}.500000Z")
    series.set_name(second)
    body = msgspec.to_builtins(series.body("stromboli", "stromboli-0"))
    return {"apiVersion": "v1", "kind": "Event", **body}


def notes(kubectl: Kubectl, *words: str) -> list[str]:
    return [row[-1] for row in kubectl.rows("get", "events", *words)]


def test_recorded_events_are_listed_whatever_they_are_sorted_by(kubectl: Kubectl) -> None:
    kubectl.given(pod("p"))
    kubectl.given(*(recorded(kubectl, "Pod", "p", f"note-{second}", second) for second in (3, 1, 2)))
    in_order = ["note-1", "note-2", "note-3"]
    for field in (".lastTimestamp", ".firstTimestamp", ".eventTime"):
        assert notes(kubectl, f"--sort-by={field}") == in_order, field
    assert sorted(notes(kubectl, "--sort-by=.metadata.creationTimestamp")) == in_order
    assert [row[-1] for row in kubectl.rows("events")] == in_order


def test_repeated_event_is_listed_last_with_its_count(kubectl: Kubectl) -> None:
    """Events of `events.k8s.io` have no last timestamp: the API serves null, and kubectl sorts null first."""
    kubectl.given(pod("p"))
    kubectl.given(*(recorded(kubectl, "Pod", "p", f"note-{second}", second) for second in (1, 2)))
    again = kubectl.path("Event", "p.1")
    kubectl.cluster.merge(again, {"count": 7, "lastTimestamp": "2026-01-01T00:00:09Z"})
    newer = {
        "metadata": {"name": "newer"}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R",
        "action": "A", "reportingController": "other", "reportingInstance": "other-0", "note": "no-last-timestamp",
        "regarding": {"kind": "Pod", "name": "p", "namespace": kubectl.namespace},
    }  # fmt: skip
    kubectl.cluster.post(f"/apis/events.k8s.io/v1/namespaces/{kubectl.namespace}/events", newer)
    assert notes(kubectl, "--sort-by=.lastTimestamp") == ["no-last-timestamp", "note-2", "note-1"]
    columns = "--output=custom-columns=:.message,:.count"
    assert ["note-1", "7"] in kubectl.rows("get", "events", columns)


def test_watch_shows_events_when_they_occur(kubectl: Kubectl) -> None:
    kubectl.given(pod("p"))
    kubectl.given(recorded(kubectl, "Pod", "p", "first", 1))
    with kubectl.running("get", "events", "--watch", "--no-headers") as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[-1] == "first"
        kubectl.given(recorded(kubectl, "Pod", "p", "second", 2))
        assert process.stdout.readline().split()[-1] == "second"


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("Pod", pod("described-pod")),
        ("PodGroup", pod_group("described-group", 2)),
        ("Queue", queue("described-queue", 1)),
        ("Node", node("described-node")),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_describe_shows_events_oldest_first(kubectl: Kubectl, kind: str, made: dict[str, Any]) -> None:
    name = made["metadata"]["name"]
    kubectl.given(made)
    of_events = Kubectl(kubectl.cluster, "default") if kind in ("Node", "Queue") else kubectl
    events = [recorded(kubectl, kind, name, f"{name}-{second}", second) for second in (2, 1)]
    of_events.given(*events)
    try:
        shown = [line.split()[-1] for line in kubectl("describe", kind, name).splitlines() if "Evicted" in line]
    finally:
        for event in events:  # other tests watch the namespace
            kubectl.cluster.remove(of_events.path("Event", event["metadata"]["name"]))
    assert shown == [f"{name}-1", f"{name}-2"]
