"""Valid objects are read, invalid ones are named, and no file crashes the reader."""

import contextlib
import io
import json
import os
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.dump.dump import is_dump
from stromboli.kube.manifests.manifests import ManifestError, Manifests, read_manifests
from tests.testing.random_clusters.effort import examples


def read(text: str) -> Manifests:
    return read_manifests(["-"], io.StringIO(text))


def named(manifests: Manifests) -> str:
    return ", ".join(f"{type(item).kind_name} {item.key}" for item in manifests.objects)


def manifest(kind: str, name: str, rest: str = "", version: str = "v1") -> str:
    return f"---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}{rest}}}\n"


def pods(*names: str) -> str:
    """A PodList as the API returns it: its items have no kind."""
    return json.dumps(
        {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": name}} for name in names]}
    )


ABC = manifest("Pod", "a") + manifest("Pod", "b", ", labels: 3") + manifest("Pod", "c")
UNKNOWN = manifest("Deployment", "d", version="apps/v1") * 3 + manifest("Foo", "f")
NESTED = f'{{"kind": "List", "items": [{pods("a")}, {{"kind": "List", "items": [{pods("b")}, null]}}]}}'
BARE_LIST = f"[{pods('a')}, [[{pods('b')}], []]]"
REPLACED = "standard input:1: Pod default/a replaces the one in standard input:1; remove one"
NOT_AN_OBJECT = "write a map with apiVersion, kind and metadata"
NAME_IT = "write a name such as train-1"

CASES = [
    ("reading order", manifest("Pod", "b") + manifest("Node", "a"), "Pod default/b, Node a", [], []),
    ("a namespace is kept", manifest("Pod", "b", ", namespace: x"), "Pod x/b", [], []),
    ("a node has no namespace", manifest("Node", "a", ", namespace: x"), "Node a", [], []),
    ("unknown kinds are counted", UNKNOWN, "", [],
     ["standard input:15: unknown kind Foo (apiVersion v1); check kind and apiVersion",
      "note: objects of kinds that the scheduler does not read were skipped: 3 Deployment"]),
    ("the later one counts", pods("a", "b", "a"), "Pod default/b, Pod default/a", [], [REPLACED]),
    ("copies that kept a uid", manifest("Pod", "b", ", uid: u") + manifest("Node", "n", ", uid: u")
     + manifest("Pod", "a", ", uid: u"), "Pod default/b, Node n, Pod default/a", [],
     ["Pod default/a, default/b have the same uid u, which was ignored; remove metadata.uid from copies"]),
    ("lists in lists", NESTED, "Pod default/a, Pod default/b",
     [f"1: document 1: expected a Kubernetes object, got null; {NOT_AN_OBJECT}"], []),
    ("lists without a kind", BARE_LIST, "Pod default/a, Pod default/b", [], []),
    ("an empty list", manifest("Pod", "a") + "---\napiVersion: v1\nkind: List\nitems:", "Pod default/a", [], []),
    ("a list that is none", "apiVersion: v1\nkind: PodList\nitems: 3", "",
     ["3: PodList in document 1: items: expected a list, got an integer; write a list of objects"], []),
    ("nameless", manifest("Pod", "a") + "---\napiVersion: v1\nkind: Pod", "Pod default/a",
     [f"6: Pod in document 2: metadata.name: is missing; {NAME_IT}"], []),
    ("a name with a slash", manifest("Pod", "a/b"), "",
     [f"4: Pod default/a/b: metadata.name: contains a space, a slash or an unprintable character; {NAME_IT}"], []),
    ("a bad one between good ones", ABC, "Pod default/a, Pod default/c",
     ["8: Pod b: metadata.labels: expected a map, got an integer; write a map of keys and values"], []),
    ("scraps", "--- 3\n---\n--- text\n--- []\n--- {}", "",
     [f"1: document 1: expected a Kubernetes object, got an integer; {NOT_AN_OBJECT}",
      f"3: document 3: expected a Kubernetes object, got a string; {NOT_AN_OBJECT}",
      "5: object in document 5: apiVersion: is missing; write one, for example apiVersion: v1"], []),
    ("ten megabytes of name", manifest("Pod", "a" * 10_000_000), "",
     [f"4: Pod default/{'a' * 292}…: metadata.name: is longer than 253 characters; {NAME_IT}"], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "objects", "problems", "notes"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_manifests_cases(text: str, objects: str, problems: list[str], notes: list[str]) -> None:
    manifests = read(text)
    assert [str(problem) for problem in manifests.problems] == [f"standard input:{line}" for line in problems]
    assert manifests.notes == notes
    assert named(manifests) == objects


def test_generated_uid_is_stable() -> None:
    text = manifest("Pod", "a") + manifest("Node", "n") + manifest("Pod", "b", ", uid: given")
    assert [item.metadata.uid for item in read(text).objects] == ["Pod/default/a", "Node/n", "given"]


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".git").mkdir()
    for path in ("b.yml", "a.yaml", "deep/c.json", "deep/notes.txt", ".git/x.yaml", ".hidden.yaml"):
        name = Path(path).stem.strip(".")
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        (tmp_path / path).write_text(json.dumps(document), encoding="utf-8-sig")
    assert named(read_manifests([str(tmp_path)])) == "Pod default/a, Pod default/b, Pod default/c"


def test_problems_name_their_file(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(manifest("Pod", "a", ", labels: 3"))
    (problem,) = read_manifests([str(file)]).problems
    assert str(problem).startswith(f"{file}:4: Pod a: metadata.labels: ")


BAD_SOURCES = [
    ("unparsable.yaml", b"a: {", ":2:1: did not find expected"),
    ("latin.yaml", b"a: \xe9", "is not UTF-8 text (byte 4); save it as UTF-8"),
    ("deep.yaml", b"[" * 200_000, ":1:1: nested too deeply; stay below 100 levels"),
    ("twice.yaml", b"a: 1\na: 2", ":2:1: duplicate key a; remove one, or write ---"),
]


@pytest.mark.parametrize(("name", "content", "words"), BAD_SOURCES, ids=[case[0] for case in BAD_SOURCES])
def test_unusable_source_raises_manifest_error(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ManifestError) as refusal:
        read_manifests([str(path)])
    assert str(refusal.value).startswith(f"{path}:")
    assert words in str(refusal.value)


def test_missing_path_raises_manifest_error() -> None:
    with pytest.raises(ManifestError, match=r'^the path "nowhere" does not exist$'):
        read_manifests(["nowhere"])


@pytest.mark.parametrize("path", ["-", "a\0b", ""], ids=["no standard input", "zero byte", "empty"])
def test_invalid_path_raises_manifest_error(path: str) -> None:
    with pytest.raises(ManifestError):
        read_manifests([path], None)


def test_named_pipe_is_read(tmp_path: Path) -> None:
    """As by `-f <(kubectl get pods -o yaml)`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=(manifest("Pod", "a"),))
    writer.start()
    assert not is_dump(pipe)
    assert named(read_manifests([str(pipe)])) == "Pod default/a"
    writer.join()


def test_pipe_in_a_folder_is_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ManifestError, match=r"pipe\.yaml: is not a regular file; remove it, or name it with -f"):
        read_manifests([str(tmp_path)])


def test_links_to_parent_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "a.yaml").write_text(manifest("Pod", "a"))
    assert named(read_manifests([str(tmp_path)])) == "Pod default/a"


def test_link_to_itself_is_rejected(tmp_path: Path) -> None:
    link = tmp_path / "a.yaml"
    link.symlink_to(link)
    with pytest.raises(ManifestError, match="cannot be accessed: too many levels of symbolic links"):
        read_manifests([str(link)])


def test_large_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.kube.manifests.sources.SIZE_LIMIT", 1 << 20)
    (tmp_path / "a.yaml").write_text("#" * (1 << 20) + "\n")
    with pytest.raises(ManifestError, match="is larger than 1 MiB; split it into several files"):
        read_manifests([str(tmp_path)])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch(0o000)
    with pytest.raises(ManifestError, match="cannot be accessed: permission denied"):
        read_manifests([str(tmp_path)])


def test_empty_folder_raises_manifest_error(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="contains no"):
        read_manifests([str(tmp_path)])


def test_excess_problems_are_only_counted() -> None:
    manifests = read("[" + ",".join(["0"] * 5000) + "]")
    assert len(manifests.problems) == 1000
    assert manifests.notes == ["4000 more problems are not listed"]


WORDS = st.sampled_from(["metadata", "name", "labels", "annotations", "items", "spec", "template", "containers", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=20,
)
OBJECTS = st.fixed_dictionaries(
    {"apiVersion": st.sampled_from(["v1", "scheduling.volcano.sh/v1beta1", "policy/v1", "batch/v1"])},
    optional={
        "kind": st.sampled_from(["Pod", "PodList", "List", "Queue", "PodGroup", "PodDisruptionBudget", "Job"]),
        "metadata": st.fixed_dictionaries({}, optional={"name": JSON, "labels": JSON, "uid": JSON}),
        "spec": JSON,
        "items": st.lists(JSON, max_size=3),
    },
)


@examples(200)
@given(st.one_of(JSON, OBJECTS, st.lists(OBJECTS, max_size=3)))
def test_any_document_is_decoded_or_reported(document: object) -> None:
    manifests = read(json.dumps([document]))
    assert all(item.metadata.name and item.metadata.uid for item in manifests.objects)
    assert all(str(problem).isprintable() for problem in manifests.problems)


@given(st.text())
def test_any_text_is_read_or_rejected(text: str) -> None:
    with contextlib.suppress(ManifestError):
        read(text)
