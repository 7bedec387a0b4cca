"""Pending bind requests among the manifests: their capacity is assumed, each for the pod that it names."""

from typing import Any

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import Manifest, gang, manifest, nodes, uid_of

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
SENT = gang(1, cpu=2, name="sent", created=LATE)
FIRST = gang(1, cpu=2, name="first", created=EARLY)


def request(place: str, phase: str = "", uid: str = "", **spec: Any) -> Manifest:
    """The bind request that binds the only pod of the gang `sent` to a node."""
    member = {"podName": "sent-task-0", "podUID": uid or uid_of("Pod", "default", "sent-task-0"), "selectedNode": place}
    return manifest(
        "BindRequest", "sent-1-1", "scheduling.stromboli.dev/v1alpha1", "default",
        spec={"podGroup": "sent", "scheduler": "stromboli", "minMember": 1, "pods": [member], **spec},
        status={"phase": phase},
    )  # fmt: skip


CASES = [
    Case("without a request the older pod is placed first", nodes(2, 1), FIRST, SENT, binds="a -"),
    Case("an open request holds the capacity of its pod", nodes(2, 1), FIRST, SENT, request("a"), binds="- -"),
    Case("so has one that is being carried out", nodes(2, 1), FIRST, SENT, request("a", "Binding"), binds="- -"),
    Case("and one of a later version", nodes(2, 1), FIRST, SENT, request("a", "Contemplating"), binds="- -"),
    Case("what is elsewhere is free", nodes(2, 2), FIRST, SENT, request("a"), binds="b -"),
    Case("one that has failed has none", nodes(2, 1), FIRST, SENT, request("a", "Failed"), binds="a -"),
    Case("nor has one for an earlier pod of that name", nodes(2, 1), FIRST, SENT, request("a", uid="old"), binds="a -"),
    Case("nor one for a node that is gone", nodes(2, 1), FIRST, SENT, request("z"), binds="a -"),
    Case(
        "nulls are as good as nothing",
        nodes(2, 1), FIRST, SENT, request("a", podGroupUID=None, epoch=None), binds="- -",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_open_requests(case: Case) -> None:
    case.check()
    assert case.backwards().plan().binds == case.plan().binds
