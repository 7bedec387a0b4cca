"""The store: history, compaction and their effect on watches."""

from __future__ import annotations

import pytest

from stromboli.local.api_server import store as store_module
from stromboli.local.api_server.store import Collection, HistoryLimits, Store

pytestmark = pytest.mark.only("embedded", because="it is about its own store")


@pytest.fixture
def short_memory(monkeypatch: pytest.MonkeyPatch) -> tuple[Store, Collection]:
    """A store with a history of three to six changes."""
    monkeypatch.setattr(store_module, "_MAX_HISTORY", 3)
    store = Store()
    return store, store.add_collection("", "things", "v1")


def write(store: Store, collection: Collection, count: int) -> list[int]:
    return [store.put(collection, ("", f"t{n}"), {"metadata": {"name": f"t{n}"}}).version for n in range(count)]


def test_history_is_bounded(short_memory: tuple[Store, Collection]) -> None:
    store, collection = short_memory
    versions = write(store, collection, 20)
    remembered = [change.entry.version for change in collection.changes_after(collection.forgotten)]
    assert remembered == versions[-len(remembered) :]
    assert 3 <= len(remembered) <= 6
    assert collection.forgotten == versions[-len(remembered) - 1]
    assert len(collection) == 20, "only the past is forgotten"


def test_history_older_than_its_time_is_dropped_except_for_the_last_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_MIN_HISTORY", 3)
    moments = iter(range(1000))
    store = Store(HistoryLimits(seconds=10.0, clock=lambda: next(moments)))
    collection = store.add_collection("", "things", "v1")
    for count in (1, 50, 300):
        versions = write(store, collection, count)
        kept = [change.entry.version for change in collection.changes_after(collection.forgotten)]
        assert kept[-min(10, count) :] == versions[-10:], "all changes of the last ten seconds"
        assert len(kept) <= 24


def test_history_of_large_objects_is_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_MIN_HISTORY", 3)
    store = Store(HistoryLimits(bytes=1000))
    collection = store.add_collection("", "things", "v1")
    for number in range(100):
        store.put(collection, ("", "t"), {"metadata": {"name": "t"}, "data": "x" * number})
        kept = collection.changes_after(collection.forgotten)
        assert len(kept) <= 6 or sum(len(change.entry.raw) for change in kept) <= 1000
    assert len(kept) >= 3


def test_replaced_version_keeps_no_decoded_body_and_can_be_read() -> None:
    store = Store()
    collection = store.add_collection("", "things", "v1")
    first = store.put(collection, ("", "t"), {"metadata": {"name": "t"}, "spec": {"a": [1]}})
    store.put(collection, ("", "t"), {"metadata": {"name": "t"}})
    assert first._body is None
    assert first.body["spec"] == {"a": [1]}


def test_history_seen_by_watch_may_be_dropped(short_memory: tuple[Store, Collection]) -> None:
    store, collection = short_memory
    last = write(store, collection, 2)[-1]
    store.version += 100
    store.compact()
    assert collection.forgotten == store.version
    assert collection.last_forgotten_change == last
    assert collection.changes_after(last) == []


def test_entries_of_namespace() -> None:
    store = Store()
    collection = store.add_collection("", "things", "v1")
    for namespace, name in (("a", "x"), ("a-b", "x"), ("ab", "x"), ("a", "y"), ("b", "x")):
        store.put(collection, (namespace, name), {"metadata": {"name": name}})
    assert [entry.key for entry in collection.entries("a")] == [("a", "x"), ("a", "y")]
    assert [entry.key for entry in collection.entries("a-b")] == [("a-b", "x")]
    assert len(list(collection.entries())) == 5
