"""Round trip of dumps, and rejection of other files."""

from __future__ import annotations

import gzip
import json
import math
import stat
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, DumpError, is_dump, read_dump, write_dump
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.carryover import Reservation
from tests.testing.placements import placement
from tests.testing.random_clusters import objects

CANARY = "c4n4ry-S3cret"


def a_cluster() -> Cluster:
    cluster = Cluster(("stromboli", "other"), seed=3)
    spec = objects.template({"cpu": "1", "example.com/card": "1"})
    entries: list[kube.KubeObject] = [
        *standard_queues(),
        objects.node("a", {"cpu": "8", "example.com/card": "4"}),
        objects.priority_class("high", 10),
        kube.Namespace(metadata=kube.ObjectMeta(name="team", labels={"tier": "gold"})),
        *objects.gang("job", 3, spec, minimum=1),
    ]
    for entry in entries:
        cluster.apply(entry)
    cluster.assumptions.assume(placement("Pod/team/job-0", "a"))
    cluster.groups.set_phase("team/job", "Inqueue", hold=True)
    return cluster


def test_dump_round_trip(tmp_path: Path) -> None:
    cluster, place = a_cluster(), tmp_path / "dump.json.gz"
    dump = Dump(contents_of(cluster), 12.5, "actions: allocate\n", {"period": 1.0}, {"binds": {"team/job-1": "a"}})
    write_dump(place, dump)
    back = read_dump(place)
    assert replace(back, contents=dump.contents) == dump
    assert is_dump(place)
    assert summary_of(current_view(cluster_with(back.contents))) == summary_of(current_view(cluster))


def test_reservation_round_trip(tmp_path: Path) -> None:
    """Also for a job without an end, which JSON has no number for."""
    cluster = a_cluster()
    promised = {
        "team/job": Reservation("team/job", 100.0, 160.5, (("Pod/team/job-1", "a"), ("Pod/team/job-2", "a"))),
        "team/some": Reservation("team/some", math.inf, math.inf, (("Pod/team/some", "a"),)),
        "team/ever": Reservation("team/ever", 200.0, math.inf, (("Pod/team/ever", "a"),)),
    }
    cluster.assumptions.reservations = promised
    write_dump(tmp_path / "dump", Dump(contents_of(cluster)))
    read = read_dump(tmp_path / "dump").contents
    assert read.reservations == promised
    assert cluster_with(read).snapshot().reservations == promised


def test_dump_is_private_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    place = tmp_path / "dump.json.gz"
    write_dump(place, Dump(contents_of(a_cluster())))
    write_dump(place, Dump(contents_of(a_cluster())))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [place]


def test_equal_clusters_give_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_dump(tmp_path / name, Dump(contents_of(a_cluster())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_dump_contains_no_secrets(tmp_path: Path) -> None:
    cluster = a_cluster()
    pod = cluster.pods.get("Pod/team/job-1")
    annotations = {**(pod.metadata.annotations or {}), "kubectl.kubernetes.io/last-applied-configuration": CANARY}
    cluster.apply(msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations)))
    configuration = f"metrics: {{type: elasticsearch, password: {CANARY}}}\n"
    write_dump(tmp_path / "dump", Dump(contents_of(cluster), configuration=configuration))
    text = gzip.decompress((tmp_path / "dump").read_bytes()).decode()
    assert CANARY not in text
    assert "scheduling.k8s.io/group-name" in text
    assert cluster.pods.get("Pod/team/job-1").metadata.annotations == annotations


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"the path .* does not exist"):
        write_dump(tmp_path / "missing" / "dump", Dump(contents_of(Cluster())))


def packed(value: object) -> bytes:
    return gzip.compress(json.dumps(value).encode())


GOOD_HEAD = {"format": "stromboli-dump", "version": 1}
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is not a dump"),
    "manifest": (b"kind: Pod\n", "is not a dump"),
    "compressed manifest": (gzip.compress(b"kind: Pod\n"), "is not a dump"),
    "other format": (packed({"format": "other", "version": 1}), "its format is 'other'"),
    "a list": (packed([1, 2]), "is not a dump"),
    "other version": (packed({"format": "stromboli-dump", "version": 9}), "has dump version 9; this program reads"),
    "header only": (packed(GOOD_HEAD), "missing required field"),
    "damaged": (packed(GOOD_HEAD)[:-8] + b"12345678", "is not a dump"),
    "deep": (gzip.compress(b"[" * 100_000), "is not a dump"),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD)
def test_other_files_are_rejected(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "dump").write_bytes(content)
    with pytest.raises(DumpError, match=words):
        read_dump(tmp_path / "dump")


def test_truncated_dump_is_rejected(tmp_path: Path) -> None:
    place = tmp_path / "dump"
    write_dump(place, Dump(contents_of(a_cluster())))
    place.write_bytes(place.read_bytes()[:-40])
    with pytest.raises(DumpError, match="is truncated"):
        read_dump(place)


def test_decompression_bomb_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(gzip.compress(b" " * 10_000_000))
    with pytest.raises(DumpError, match="is larger than the maximum of 1 MiB"):
        read_dump(tmp_path / "dump", largest=1 << 20)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    assert not is_dump(tmp_path / "missing")
    with pytest.raises(DumpError, match=r"the path .* does not exist"):
        read_dump(tmp_path / "missing")


def test_unknown_kind_is_reported(tmp_path: Path) -> None:
    place = tmp_path / "dump"
    write_dump(place, Dump(contents_of(a_cluster())))
    text = json.loads(gzip.decompress(place.read_bytes()))
    text["objects"]["wonders.example.com"] = []
    place.write_bytes(packed(text))
    with pytest.raises(DumpError, match=r"contains the unknown kind 'wonders\.example\.com'"):
        read_dump(place)
