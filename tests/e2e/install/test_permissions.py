"""The requests of all other tests match the installed permissions: nothing was forbidden, and no right is unused.

They are those of the tests that ran before in the same process, or those that several processes have left in a folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from stromboli.install.rights import WRITES_REQUESTS, Right, lease_rights
from stromboli.install.roles import LEASES, OPTIONAL, PROCESSES, rights_of
from testbed.plane import REQUESTER, Asked, ControlPlane
from testbed.request_records import recorded, records_folder

Use = tuple[str, str, str, str]

#: What is asked for and granted by people alone: shared devices are described in a ConfigMap that may be read, or not.
FOR_PEOPLE_TO_GRANT = {("scheduler", "watch", "", "configmaps"), ("scheduler", "list", "", "configmaps")}
#: What is used only where a server for measurements stands beside the API server, as it does nowhere here; the calls
#: themselves are tested in tests/unit/external.
OF_OTHER_SERVERS = ("metrics.k8s.io", "custom.metrics.k8s.io")
#: Checked by the server when another object is written; no process sends it.
ASKED_ALONG = {"resourceclaims/binding": "resourceclaims/status"}
#: Checked by an admission plugin when an object with an owner is written, see test_installation.py.
OF_OWNERS = "/finalizers"
#: Reviews for clients of an exposed metrics address: only the scheduler is started with one here. The others use the
#: same guard, see tests/unit/observability.
ON_EXPOSED_ADDRESSES = {
    ("admission", "create", "authentication.k8s.io", "tokenreviews"),
    ("binder", "create", "authentication.k8s.io", "tokenreviews"),
    ("binder", "create", "authorization.k8s.io", "subjectaccessreviews"),
    ("controller", "create", "authentication.k8s.io", "tokenreviews"),
    ("controller", "create", "authorization.k8s.io", "subjectaccessreviews"),
}

pytestmark = [
    pytest.mark.last,
    pytest.mark.only("real", because="the embedded server has no RBAC"),
]


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> set[Asked]:
    if records_folder():
        return recorded()
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("the tests before ran in several processes, which left no records")
    plane: ControlPlane = request.getfixturevalue("plane")
    return recorded() | set(plane.asked())


def granted() -> Iterator[tuple[str, Right]]:
    yield REQUESTER, WRITES_REQUESTS
    for process in (*PROCESSES, *OPTIONAL):
        leases = lease_rights(LEASES[process]) if process in LEASES else ()
        for right in (*rights_of(process), *leases):
            yield process, right


def test_nothing_was_forbidden(asked: set[Asked]) -> None:
    assert asked, "no request was recorded"
    refused = {(each.account, each.verb, each.group, each.resource) for each in asked if each.status == 403}
    assert sorted(refused - FOR_PEOPLE_TO_GRANT) == []


def test_no_right_is_there_in_vain(asked: set[Asked]) -> None:
    used = {(each.account, each.verb, each.group, each.resource) for each in asked if each.status != 403}
    unused = {
        (process, verb, right.group, right.resource)
        for process, right in granted()
        for verb in right.verbs
        if right.group not in OF_OTHER_SERVERS
        and not right.resource.endswith(OF_OWNERS)
        and (process, verb, right.group, ASKED_ALONG.get(right.resource, right.resource)) not in used
    } - ON_EXPOSED_ADDRESSES
    assert not unused, "\n".join(" ".join(each) for each in sorted(unused))
