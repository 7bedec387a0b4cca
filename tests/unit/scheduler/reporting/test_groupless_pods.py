"""Pods without a group: reported once, after a delay, and only if nothing else keeps them waiting."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli import kube
from stromboli.cluster.state.pods import Pods
from stromboli.scheduler.reporting.groupless_pods import GrouplessPods, message_for
from stromboli.workloads.groups import GROUP_NAME
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import pod

DELAY = 10.0


class Following:
    """Pods of the schedulers stromboli and volcano, and the reports about them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pods = Pods(("stromboli", "volcano"), None)
        self.reported: list[tuple[str, str]] = []
        self.groupless = GrouplessPods(
            self.pods,
            lambda entry, message: self.reported.append((entry.metadata.name, message)),
            delay=DELAY,
            clock=lambda: self.now,
        )

    def apply(self, manifest: dict[str, Any]) -> kube.Pod:
        [entry] = objects([manifest])
        assert isinstance(entry, kube.Pod)
        self.pods.add(entry)
        self.groupless.pod_changed(entry)
        return entry

    def after(self, seconds: float) -> list[str]:
        self.now += seconds
        self.groupless.report_due()
        return [name for name, _ in self.reported]


def manifest(scheduler: str = "stromboli", annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    made = pod(name="one")
    made["metadata"] |= {"annotations": annotations or {}, "uid": "one"}
    made["spec"] |= {"schedulerName": scheduler, **fields}
    return made


def test_pod_without_a_group_is_reported_once_after_the_delay() -> None:
    following = Following()
    following.apply(manifest())
    assert following.after(DELAY - 1) == []
    following.apply(manifest())
    assert following.after(1) == ["one"], "an update does not restart the delay"
    assert following.after(100) == ["one"]


OTHERS: dict[str, dict[str, Any]] = {
    "with a group": manifest(annotations={GROUP_NAME: "group"}),
    "with a native group": manifest(schedulingGroup={"podGroupName": "group"}),
    "of another scheduler": manifest("default-scheduler"),
    "bound": manifest(nodeName="a"),
    "gated": manifest(schedulingGates=[{"name": "example.com/gate"}]),
    "finished": manifest() | {"status": {"phase": "Succeeded"}},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_pods_are_not_reported(other: dict[str, Any]) -> None:
    following = Following()
    following.apply(other)
    assert following.after(100) == []


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_pod_that_changes_within_the_delay_is_not_reported(other: dict[str, Any]) -> None:
    following = Following()
    following.apply(manifest())
    following.apply(other)
    assert following.after(100) == []


def test_deleted_pod_is_not_reported() -> None:
    following = Following()
    following.pods.drop(following.apply(manifest()).metadata.uid)
    assert following.after(100) == []


def test_message_has_the_remedy_for_the_scheduler_name() -> None:
    assert message_for("stromboli") == (
        "the pod has no PodGroup, and no controller creates one for schedulerName stromboli; start "
        "`stromboli controller`, or Volcano's controllers with --scheduler-name=stromboli, "
        "or use schedulerName volcano with them"
    )
    assert message_for("volcano").endswith("start `stromboli controller`, or Volcano's controllers")
