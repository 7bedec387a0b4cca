"""Equal parts of objects are kept once, and no object changes by it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stromboli import kube
from stromboli.console.cache import shared_parts
from stromboli.console.cache.shared_parts import SharedParts
from stromboli.kube.objects.kinds import decode
from stromboli.kube.objects.meta import TopLevel
from tests.testing.manifests.builders import Manifest, gang, node, queue
from tests.unit.kube.test_catalogue import BY_KIND, FURTHER

_texts = st.sampled_from(["a", "b", "", "1"])
Mapping = dict[str, str] | None
_mappings = st.none() | st.dictionaries(_texts, _texts, max_size=2)


def _objects(*manifests: Manifest) -> list[TopLevel]:
    return [each for each in map(decode, manifests) if isinstance(each, TopLevel)]


def _gang(name: str) -> list[TopLevel]:
    return _objects(*gang(3, cpu=2, name=name, labels={"app": "train"}))


def _of_every_kind() -> list[TopLevel]:
    return [msgspec.convert(each, BY_KIND[each["apiVersion"], each["kind"]].type) for each in FURTHER]


def _encoded(entries: list[TopLevel]) -> list[bytes]:
    return [msgspec.json.encode(each) for each in entries]


def test_pods_of_a_gang_share_what_is_equal() -> None:
    shared, pods = SharedParts(), [each for each in _gang("train") if isinstance(each, kube.Pod)]
    pods[2].spec.node_name = "a"
    for pod in pods:
        shared.share(pod)
    first, *others = pods
    assert len(others) == 2
    assert others[0].spec is first.spec
    for other in others:
        assert other.metadata.annotations is first.metadata.annotations
        assert other.metadata.namespace is first.metadata.namespace
        assert other.kind is first.kind
        assert other.spec.containers is first.spec.containers
    assert others[1].spec.node_name == "a" != first.spec.node_name


@pytest.mark.parametrize("limit", [1, 1_000])
def test_no_object_changes(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(shared_parts, "_MAX_PARTS", limit)
    entries = [*_gang("train"), *_gang("serve"), *_objects(node("n", 4), queue("q")), *_of_every_kind()]
    before, shared = _encoded(entries), SharedParts()
    for entry in entries:
        shared.share(entry)
    assert _encoded(entries) == before


@settings(max_examples=30)
@given(st.lists(st.tuples(_mappings, _mappings), max_size=6))
def test_objects_with_other_parts_keep_their_own(
    parts: list[tuple[Mapping, Mapping]],
) -> None:
    pods = [kube.Pod(spec=kube.PodSpec(node_selector=selector)) for selector, _ in parts]
    shared = SharedParts()
    for pod, (_, labels) in zip(pods, parts, strict=True):
        pod.metadata.labels = labels
        shared.share(pod)
    assert [(pod.spec.node_selector, pod.metadata.labels) for pod in pods] == parts
