"""The ownership graph, compared with a naive implementation."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference
from stromboli.local.fakes.ownership import FOREGROUND, ORPHAN, OwnedObject, Ownership

UIDS = st.sampled_from("abcdef")
CHANGES = st.lists(st.tuples(UIDS, st.none() | st.sets(UIDS, max_size=3)), max_size=30)


def owned(uid: str, owners: set[str], **metadata: Any) -> OwnedObject:
    references = [OwnerReference(uid=owner) for owner in sorted(owners)]
    return OwnedObject(CONFIG_MAPS, ObjectMeta(name=uid, uid=uid, owner_references=references, **metadata))


@given(CHANGES)
def test_dependents_follow_owner_references(changes: list[tuple[str, set[str] | None]]) -> None:
    ownership, simple = Ownership(), dict[str, set[str]]()
    for uid, owners in changes:
        if owners is None:
            ownership.remove(uid)
            simple.pop(uid, None)
        else:
            ownership.apply(owned(uid, owners))
            simple[uid] = owners
    for owner in "abcdef":
        found = {entry.metadata.uid for entry in ownership.dependents(owner)}
        assert found == {uid for uid, owners in simple.items() if owner in owners}
        assert (ownership.get(owner) is not None) == (owner in simple)
    assert {entry.metadata.uid for entry in ownership.of_kind("", "ConfigMap")} == set(simple)


def test_blocking_dependents_of_deleted_owner() -> None:
    deleting = {"deletion_timestamp": "2027-01-15T08:00:00Z"}
    assert owned("a", set(), finalizers=[FOREGROUND], **deleting).is_foreground_deletion
    assert owned("a", set(), finalizers=[ORPHAN], **deleting).orphans_dependents
    assert not owned("a", set(), finalizers=[FOREGROUND, ORPHAN]).is_foreground_deletion
    assert not owned("a", {"b"}).is_blocking("b")
