"""An informer that also takes answers to own writes keeps the newest version of each object."""

from __future__ import annotations

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.cluster import ConfigMap
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.watch.informer import GatedInformer


def version(number: int, uid: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="one", namespace="team", uid=uid, resource_version=str(number)))


class Recorded:
    """An informer, and the changes that its listener has seen: the versions before and after."""

    def __init__(self) -> None:
        self.informer = GatedInformer(Client(Connection("http://memory", None)), CONFIG_MAPS)
        self.changes: list[tuple[str, str]] = []
        self.informer.listen(lambda old, new: self.changes.append((_name(old), _name(new))))

    def report(self, *reports: ConfigMap) -> None:
        for each in reports:
            self.informer.apply(each)


def _name(entry: ConfigMap | None) -> str:
    return f"{entry.metadata.uid}{entry.metadata.resource_version}" if entry else "-"


CASES = {
    "newer versions": ([version(1), version(2)], [("-", "a1"), ("a1", "a2")]),
    "the same version twice": ([version(1), version(1)], [("-", "a1")]),
    "an older version": ([version(2), version(1)], [("-", "a2")]),
    "another object of the name": ([version(1), version(3, "b")], [("-", "a1"), ("a1", "-"), ("-", "b3")]),
    "an earlier object of the name": ([version(3, "b"), version(1)], [("-", "b3")]),
}


@pytest.mark.parametrize("case", CASES)
def test_reports(case: str) -> None:
    reports, changes = CASES[case]
    recorded = Recorded()
    recorded.report(*reports)
    assert recorded.changes == changes


def test_deleted_object_does_not_return() -> None:
    recorded = Recorded()
    recorded.report(version(1))
    recorded.informer.remove(version(2))
    recorded.report(version(1), version(2))
    assert recorded.changes == [("-", "a1"), ("a1", "-")]
    assert not recorded.informer.objects


@pytest.mark.parametrize("removed", [version(1), version(9, "b")], ids=["older version", "other object"])
def test_late_deletion_of_something_else_is_ignored(removed: ConfigMap) -> None:
    recorded = Recorded()
    recorded.report(version(2))
    recorded.informer.remove(removed)
    assert _name(recorded.informer.objects["team/one"]) == "a2"


def test_restored_server_may_have_lower_versions() -> None:
    recorded = Recorded()
    recorded.report(version(5))
    recorded.informer.forget_history(ConfigMap)
    recorded.report(version(2))
    assert _name(recorded.informer.objects["team/one"]) == "a2"
