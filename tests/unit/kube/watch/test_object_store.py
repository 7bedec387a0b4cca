"""A sink receives every change once, and never an outdated one."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.decoding import Unreadable
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.object_store import WatchStore
from stromboli.kube.watch.version_gate import MAX_TOMBSTONES, TOMBSTONE_SECONDS, VersionGate
from tests.testing.kube.sinks import RecordingSink


def pod(name: str, version: int | str, uid: str = "u") -> Pod:
    return Pod(metadata=ObjectMeta(name, "d", f"{uid}-{name}", resource_version=str(version)))


def bad(name: str, version: int, uid: str = "u") -> Unreadable:
    return Unreadable(f"d/{name}", f"{uid}-{name}", "cannot be read", str(version))


@dataclass
class EventSequence:
    """`+a5` is version 5 of a, `-a6` its deletion at 6, `?a7` an invalid version; `'` is another object of the name."""

    title: str
    happens: str
    calls: str
    failing_names: str = ""

    def __str__(self) -> str:
        return self.title


def feed(mirror: WatchStore[Pod], word: str) -> None:
    uid = "v" if "'" in word else "u"
    kind, name, version = word[0], word[1], word[2:].strip("'")
    if kind == "?":
        mirror.refuse(bad(name, int(version), uid))
    elif kind == "!":
        mirror.remove_unreadable(bad(name, int(version), uid))
    elif kind == "+":
        mirror.apply(pod(name, version, uid))
    else:
        mirror.remove(pod(name, version, uid))


SEQUENCES = [
    EventSequence("added, changed, deleted", "+a1 +a2 -a3", "+a +a -a"),
    EventSequence("every event twice", "+a1 +a1 -a2 -a2", "+a -a"),
    EventSequence("an older version later", "+a2 +a1", "+a"),
    EventSequence("others do not matter", "+a5 +b3 +a4 +b4", "+a +b +b"),
    EventSequence("an old version after the deletion", "+a1 -a3 +a2 +a3", "+a -a"),
    EventSequence("back in the selection", "+a1 -a3 +a4", "+a -a +a"),
    EventSequence("an old deletion of what came back", "+a1 -a3 +a4 -a3", "+a -a +a"),
    EventSequence("gone without having been there", "-a1 +a1", ""),
    EventSequence("another takes the name", "+a1 +a5'", "+a -a +a"),
    EventSequence("a late deletion of the old object", "+a1 +a5' -a4 +a3", "+a -a +a"),
    EventSequence("the old one once more, when the new one is gone", "+a1 +a5' -a4 -a6' +a4 +a5'", "+a -a +a -a"),
    EventSequence("versions that are no numbers", "+ax +ax +ay +ax", "+a +a +a"),
    EventSequence("unreadable, then good again", "+a1 ?a2 +a3", "+a ?a +a"),
    EventSequence("unreadable from the start", "?a1 ?a1 -a2", "?a -a"),
    EventSequence("the readable past of what is unreadable", "?a2 +a1", "?a"),
    EventSequence("unreadable to the end", "+a1 ?a2 !a3 +a2", "+a ?a -a"),
    EventSequence("unreadable under a name of another", "+a1 ?a2' !a3'", "+a -a ?a -a"),
    EventSequence("the reader stumbles", "+a1 +b2 +a3 -a4", "+a ?a +b +a ?a -a", failing_names="a"),
    EventSequence("a stumble is tried again", "+a1 +a1", "+a ?a +a ?a", failing_names="a"),
]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=str)
def test_sink_receives_the_expected_calls(sequence: EventSequence) -> None:
    sink = RecordingSink()
    sink.failing_names = set(sequence.failing_names)
    mirror = WatchStore(PODS, sink)
    for word in sequence.happens.split():
        feed(mirror, word)
    assert sink.calls_text == sequence.calls


def test_a_list_is_stale_before_anything_that_is_known() -> None:
    mirror = WatchStore(PODS, RecordingSink())
    mirror.apply(pod("a", 7))
    assert mirror.is_stale("6")
    assert not mirror.is_stale("7")
    mirror.advance("9")
    assert mirror.is_stale("8")
    assert not any(map(mirror.is_stale, ("", "0", "x")))
    mirror.forget_history()
    assert not mirror.is_stale("6")


def test_what_a_list_lacks_is_gone_for_its_time() -> None:
    sink = RecordingSink()
    mirror = WatchStore(PODS, sink)
    mirror.apply(pod("a", 1))
    mirror.apply(pod("b", 2))
    for entry in mirror.missing({"d/b"}):
        mirror.lose(entry, "5")
    mirror.apply(pod("a", 4))
    mirror.apply(pod("a", 6))
    assert sink.calls_text == "+a +b -a +a"


def test_deletion_carries_the_last_seen_state() -> None:
    removed: list[Pod] = []
    sink = RecordingSink()
    sink.remove = removed.append  # type: ignore[assignment,method-assign]
    mirror = WatchStore(PODS, sink)
    entry = pod("a", 1)
    entry.spec.node_name = "n1"
    mirror.apply(entry)
    mirror.refuse(bad("a", 2))
    mirror.remove_unreadable(bad("a", 3))
    assert removed[0].spec.node_name == "n1"
    assert entry.metadata.resource_version == "1"


def test_tombstones_are_kept_for_some_time() -> None:
    now = 0.0
    gate = VersionGate(lambda: now)
    late = [ObjectMeta(f"p{number}", "default", f"u{number}", resource_version="5") for number in range(2)]
    gate.record_deletion("p0", late[0])
    now = TOMBSTONE_SECONDS - 1
    gate.record_deletion("p1", late[1])
    assert not gate.admits("p0", late[0], None), "a late report restores nothing"
    now += 2
    gate.record_deletion("p2", ObjectMeta("p2", "default", "u2", resource_version="7"))
    assert gate.admits("p0", late[0], None), "forgotten"
    assert not gate.admits("p1", late[1], None)


def test_tombstones_are_limited() -> None:
    mirror = WatchStore(PODS, RecordingSink())
    for number in range(MAX_TOMBSTONES + 10):
        mirror.remove(Pod(metadata=ObjectMeta(f"p{number}", resource_version=str(number))))
    assert mirror._gate is not None
    assert len(mirror._gate._tombstones) == MAX_TOMBSTONES


def test_failing_error_handler_of_a_sink_is_isolated() -> None:
    class Deaf(RecordingSink):
        def unreadable(self, *words: object) -> None:
            raise RuntimeError

    sink = Deaf()
    sink.failing_names = {"a"}
    mirror = WatchStore(PODS, sink)
    mirror.apply(pod("a", 1))
    mirror.apply(pod("b", 2))
    assert list(sink.entries) == ["d/b"]
    assert mirror.failures == 2


EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=12)


@given(EVENTS, st.data())
def test_echoes_and_old_news_change_nothing(events: list[tuple[str, bool]], data: st.DataObject) -> None:
    """After every event any earlier ones may be repeated; the end is the same."""
    plain, echoed = RecordingSink(), RecordingSink()
    first, second = WatchStore(PODS, plain), WatchStore(PODS, echoed)
    words: list[str] = []
    for version, (name, deleted) in enumerate(events, start=1):
        words.append(f"{'-' if deleted else '+'}{name}{version}")
        feed(first, words[-1])
        feed(second, words[-1])
        for earlier in data.draw(st.lists(st.sampled_from(words), max_size=3)):
            feed(second, earlier)
    assert plain.versions == echoed.versions
    assert plain.calls_text == echoed.calls_text
