"""Text is parsed to plain values, or to an error with position and remedy."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.manifests.yaml import NestingError, YamlError, dump_documents, load_documents

MEANINGS = [
    ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ("10:30", "10:30"),
    ("1e3", 1000.0),
    (".5", 0.5),
    ("017", 15),
    ("0o17", 15),
    ("0x1F", 31),
    ("1_000", 1000),
    ("08", "08"),
    ("'1'", "1"),
    ("!!str 1", "1"),
    ("~", None),
    ("on", True),
    ("=", "="),
    ("9" * 5000, "9" * 5000),
]

REFUSED = [
    ("alias", "a: &x 1\nb: *x", "line 1, column 4: anchors and aliases"),
    ("key twice", "x:\n  a: 1\n  b: 2\n  a: 3", "line 4, column 3: duplicate key a; remove one"),
    ("objects run together", "a: 1\na: 3", "line 2, column 1: duplicate key a; remove one, or write ---"),
    ("merge key", "<<: {a: 1}", "merge keys"),
    ("python object", "a: !!python/object:os.system x", "line 1, column 4: tags other than !!str"),
    ("tagged list", "a: !!set {b}", "tags are not allowed"),
    ("list as key", "? [a]\n: b", "cannot be a key"),
    (
        "unclosed",
        "a: {b",
        "did not find expected ',' or '}' while parsing a flow mapping; correct the text there",
    ),
    ("unclosed JSON", '{"a": 1', "line 2, column 1: did not find expected"),
    ("control character", "é: 1\na: \x00", "line 2, column 4: control characters"),
    ("half a character", "a: \ud800", "line 1, column 4: half of a character"),
]

TOO_DEEP = ["[" * 100_000, '{"a":' * 100_000, "{a: " * 100_000, "- " * 10_000]


@pytest.mark.parametrize(("text", "value"), MEANINGS, ids=[text[:20] for text, _ in MEANINGS])
def test_plain_scalars_follow_kubernetes(text: str, value: object) -> None:
    assert load_documents(f"key: {text}", "a.yaml") == [{"key": value}]


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_invalid_yaml_is_rejected(text: str, words: str) -> None:
    with pytest.raises(YamlError) as refusal:
        load_documents(text, "a.yaml")
    assert str(refusal.value).startswith("a.yaml: line ")
    assert words in str(refusal.value)


@pytest.mark.parametrize("text", TOO_DEEP, ids=lambda text: text[:8])
def test_depth_is_limited(text: str) -> None:
    with pytest.raises(NestingError, match="nested too deeply"):
        load_documents(text, "a.yaml")


def test_several_documents_and_flow_style() -> None:
    assert load_documents("---\n---\na: 1\n--- [1]\n", "a.yaml") == [None, {"a": 1}, [1]]
    assert load_documents("  {a: [b, c]}", "a.yaml") == [{"a": ["b", "c"]}]
    assert load_documents('[{"a": 1}]', "a.json") == [[{"a": 1}]]
    assert load_documents("# nothing\n", "a.yaml") == []


def test_keys_are_text() -> None:
    assert load_documents("1: a\non: b\n'on ': c", "a.yaml") == [{"1": "a", "on": "b", "on ": "c"}]


def test_ambiguous_scalars_are_quoted() -> None:
    shared = {"b": "1e3", "a": ["y", "1"]}
    assert dump_documents([{"x": shared, "y": shared, "lines": "one\ntwo\n"}]) == (
        "x:\n  b: '1e3'\n  a:\n  - 'y'\n  - '1'\n'y':\n  b: '1e3'\n  a:\n  - 'y'\n  - '1'\nlines: |\n  one\n  two\n"
    )


SCALARS = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats(allow_nan=False) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8).filter("<<".__ne__), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=3))
def test_round_trip(documents: list[object]) -> None:
    assert load_documents(dump_documents(documents), "a.yaml") == documents


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    with contextlib.suppress(YamlError):
        assert isinstance(load_documents(text, "a.yaml"), list)
