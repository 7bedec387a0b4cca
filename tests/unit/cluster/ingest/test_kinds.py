"""The table of kinds: every watched kind has a handler and a rule of relevance."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from stromboli.cluster.ingest.kinds import (
    BY_TYPE,
    KINDS,
    WATCHED_OPTIONAL,
    WATCHED_REQUIRED,
    Kind,
    Watch,
    is_relevant,
)
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects import kinds as wire
from stromboli.kube.objects.claims import ResourceClaimTemplate
from stromboli.kube.objects.cluster import NodeMetrics
from stromboli.kube.objects.meta import ObjectMeta, TopLevel

#: Kinds of which decisions read annotations.
READ_ANNOTATIONS = {"Pod", "Node", "Queue", "PodGroup"}


def an_object(kind: Kind) -> TopLevel:
    namespace = "team" if kind.resource.namespaced else ""
    metadata = ObjectMeta("one", namespace, "uid-1", resource_version="1")
    entry: TopLevel = kind.resource.type(metadata=metadata)
    return entry


def again(entry: TopLevel, **metadata: object) -> TopLevel:
    return msgspec.structs.replace(entry, metadata=msgspec.structs.replace(entry.metadata, **metadata))


def ids(kind: Kind) -> str:
    return kind.resource.name


def test_every_supported_kind_is_in_the_table() -> None:
    """ResourceClaimTemplates are expanded by Kubernetes' own controller, and by the planner."""
    assert set(BY_TYPE) == set(wire.KINDS.values()) - {ResourceClaimTemplate}


def test_every_kind_has_one_row() -> None:
    assert max(Counter(kind.resource.type for kind in KINDS).values()) == 1


def test_every_watched_resource_is_in_the_table() -> None:
    watched = [*WATCHED_REQUIRED, *WATCHED_OPTIONAL]
    assert {resource.type for resource in watched} == {
        kind.resource.type for kind in KINDS if kind.watch is not Watch.SEPARATE
    }
    assert not {*WATCHED_REQUIRED} & {*WATCHED_OPTIONAL}


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_object_is_handled_until_it_is_removed(kind: Kind) -> None:
    cluster, entry = Cluster(), an_object(kind)
    cluster.apply(entry)
    cluster.snapshot()
    is_stored = kind.resource.type is not NodeMetrics and kind.resource.kind != "Pod"
    assert (entry in cluster.objects()) is is_stored, "NodeMetrics become samples; this pod is of another scheduler"
    cluster.remove(entry)
    cluster.snapshot()
    assert cluster.objects() == []


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_new_removed_and_recreated_objects_are_relevant(kind: Kind) -> None:
    entry = an_object(kind)
    assert is_relevant(entry, None)
    assert is_relevant(entry, entry)
    assert is_relevant(again(entry, uid="uid-2"), entry)


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_unread_metadata_is_irrelevant(kind: Kind) -> None:
    entry = an_object(kind)
    assert not is_relevant(again(entry, resource_version="2"), entry)
    annotated = again(entry, annotations={"example.com/note": "text"})
    assert is_relevant(annotated, entry) is (kind.resource.kind in READ_ANNOTATIONS)
