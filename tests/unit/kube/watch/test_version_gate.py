"""The version gate admits news only."""

import pytest

from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.watch.version_gate import VersionGate


def version(text: str, uid: str = "u") -> ObjectMeta:
    return ObjectMeta("a", "d", uid, resource_version=text or None)


#: Known version, reported version, and whether it is news.
REPORTS = {
    "first report": (None, version("5"), True),
    "newer version": (version("5"), version("6"), True),
    "same version": (version("5"), version("5"), False),
    "older version": (version("6"), version("5"), False),
    "newer object of that name": (version("5"), version("6", "v"), True),
    "older object of that name": (version("6"), version("5", "v"), False),
    "same text that is no number": (version("x"), version("x"), False),
    "other text that is no number": (version("x"), version("w"), True),
    "no version": (version(""), version(""), True),
}


@pytest.mark.parametrize(("known", "reported", "expected"), REPORTS.values(), ids=REPORTS)
def test_report_is_admitted_if_it_is_news(known: ObjectMeta | None, reported: ObjectMeta, expected: bool) -> None:
    assert VersionGate().admits("a", reported, known) is expected


def test_deleted_object_is_rejected_up_to_its_last_version() -> None:
    gate = VersionGate()
    gate.record_deletion("a", version("7"))
    gate.record_deletion("a", version("6"))
    assert [gate.admits("a", version(text), None) for text in ("6", "7", "8")] == [False, False, True]
    assert gate.admits("a", version("5", "v"), None), "another object of that name"


def test_restored_server_may_report_deleted_objects() -> None:
    gate = VersionGate()
    gate.record_deletion("a", version("7"))
    gate.forget_tombstones()
    assert gate.admits("a", version("3"), None)
