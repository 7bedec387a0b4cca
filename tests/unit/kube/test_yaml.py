"""Text is parsed to plain values, or to an error with position and remedy."""

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.manifests.yaml import dump_documents, load_documents
from stromboli.kube.manifests.yaml_errors import YamlError

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

LAUGHS = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))])

REFUSED = [
    (
        "alias without anchor",
        "a: 1\nb: *x",
        ":2:4: the alias *x has no anchor before it; define &x above, or quote the text",
    ),
    ("alias of another document", "a: &x 1\n---\nb: *x", ":3:4: the alias *x has no anchor before it"),
    ("alias in its own anchor", "a: &x\n- *x", ":2:3: the alias *x is inside its own anchor; write the value out"),
    (
        "billion laughs",
        LAUGHS,
        ":8:25: aliases add more than 5,000,000 values to this document; write fewer or smaller",
    ),
    (
        "few long texts",
        f"a: &x {'x' * 2**20}\nb: [{', '.join(['*x'] * 65)}]",
        ":2:261: aliases add more than 64 MiB of",
    ),
    ("merged text", "a: &x 1\n<<: *x", ":2:5: a merge key (<<) needs a map or a list of maps; write <<: *anchor"),
    ("merged list of texts", "<<: [a]", ":1:5: a merge key (<<) needs a map"),
    ("alias of a list as key", "a: &x [1]\n*x : 1", ":2:1: a list or map cannot be a key"),
    ("key twice", "x:\n  a: 1\n  b: 2\n  a: 3", ":4:3: duplicate key a; remove one"),
    ("objects run together", "a: 1\na: 3", ":2:1: duplicate key a; remove one, or write ---"),
    ("python object", "a: !!python/object:os.system x", ":1:4: tags other than !!str"),
    ("tagged list", "a: !!set {b}", "tags are not allowed"),
    ("list as key", "? [a]\n: b", "cannot be a key"),
    (
        "unclosed",
        "a: {b",
        "did not find expected ',' or '}' while parsing a flow mapping; correct the text there",
    ),
    ("truncated JSON", '{"a": 1', ":1:8: the JSON text is truncated; save or download it again"),
    ("tab", "a:\n\tb: 1", ":2:1: a tab cannot indent YAML; use spaces"),
    ("control character", "é: 1\na: \x00", ":2:4: control characters"),
    ("half a character", "a: \ud800", ":1:4: half of a character"),
]

CHAIN = "\n".join(["- &a0 []", *(f"- &a{n} [*a{n - 1}]" for n in range(1, 100))])
TOO_DEEP = [CHAIN, "[" * 100_000, '{"a":' * 100_000, "{a: " * 100_000, "- " * 10_000]


@pytest.mark.parametrize(("text", "value"), MEANINGS, ids=[text[:20] for text, _ in MEANINGS])
def test_plain_scalars_follow_kubernetes(text: str, value: object) -> None:
    assert load_documents(f"key: {text}", "a.yaml") == [{"key": value}]


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_invalid_yaml_is_rejected(text: str, words: str) -> None:
    with pytest.raises(YamlError) as refusal:
        load_documents(text, "a.yaml")
    assert str(refusal.value).startswith("a.yaml:")
    assert words in str(refusal.value)


@pytest.mark.parametrize("text", TOO_DEEP, ids=lambda text: text[:8])
def test_depth_is_limited(text: str) -> None:
    with pytest.raises(YamlError, match="nested too deeply"):
        load_documents(text, "a.yaml")


def test_several_documents_and_flow_style() -> None:
    assert load_documents("---\n---\na: 1\n--- [1]\n", "a.yaml") == [None, {"a": 1}, [1]]
    assert load_documents("  {a: [b, c]}", "a.yaml") == [{"a": ["b", "c"]}]
    assert load_documents('[{"a": 1}]', "a.json") == [[{"a": 1}]]
    assert load_documents("# nothing\n", "a.yaml") == []


ALIASES = [
    ("scalar", "a: &x 1\nb: *x", {"a": 1, "b": 1}),
    ("list", "a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
    ("null", "a: &x\nb: *x", {"a": None, "b": None}),
    ("replaced anchor", "a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
    ("alias as key", "a: &x on\n*x : 1", {"a": True, "on": 1}),
    ("anchored key", "&x a: 1\nb: *x", {"a": 1, "b": "a"}),
    ("merge", "a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
    ("merge of a list", "<<: [{a: 1}, {a: 2, b: 2}]\nc: 3", {"a": 1, "b": 2, "c": 3}),
    ("merge in a merge", "a: &x {<<: {b: 1}}\nd: {<<: *x}", {"a": {"b": 1}, "d": {"b": 1}}),
    ("two merges", "<<: {a: 1}\n<<: {a: 2}", {"a": 2}),
    ("quoted merge key", "'<<': 1", {"<<": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [case[1:] for case in ALIASES], ids=[case[0] for case in ALIASES])
def test_aliases_and_merge_keys_are_expanded(text: str, value: object) -> None:
    assert load_documents(text, "a.yaml") == [value]


def test_keys_are_text() -> None:
    assert load_documents("1: a\non: b\n'on ': c", "a.yaml") == [{"1": "a", "on": "b", "on ": "c"}]


def test_ambiguous_scalars_are_quoted() -> None:
    shared = {"b": "1e3", "a": ["y", "1"]}
    assert dump_documents([{"x": shared, "y": shared, "lines": "one\ntwo\n"}]) == (
        "x:\n  b: '1e3'\n  a:\n  - 'y'\n  - '1'\n'y':\n  b: '1e3'\n  a:\n  - 'y'\n  - '1'\nlines: |\n  one\n  two\n"
    )


def _flow_list(drawn: tuple[str, list[str]]) -> str:
    anchor, items = drawn
    return f"{anchor}[{', '.join(items)}]"


def _flow_map(drawn: tuple[str, dict[str, str]]) -> str:
    anchor, fields = drawn
    return f"{anchor}{{{', '.join(f'{key}: {value}' for key, value in fields.items())}}}"


SCALARS = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats(allow_nan=False) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def shared_values(draw: st.DrawFn) -> object:
    """A value with parts that occur several times, which PyYAML writes as anchors and aliases."""
    parts = [draw(VALUES)]
    for _ in range(draw(st.integers(1, 5))):
        inner = st.sampled_from(parts) | SCALARS
        parts.append(draw(st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)))
    return parts[-3:]


@given(shared_values(), st.booleans())
def test_aliases_of_pyyaml_are_read_as_by_pyyaml(value: object, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow)
    assert load_documents(text, "a.yaml") == [yaml.safe_load(text)] == [value]


FLOWS = st.recursive(
    st.sampled_from(["1", "x", "*a", "*b"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["", "&a ", "&b "]), st.lists(inner, max_size=3)).map(_flow_list),
        st.tuples(
            st.sampled_from(["", "&a ", "&b "]),
            st.dictionaries(st.sampled_from(["<<", "p", "q", "r"]), inner, max_size=3),
        ).map(_flow_map),
    ),
    max_leaves=12,
)


@given(st.lists(FLOWS, min_size=1, max_size=4))
def test_any_anchors_and_merges_are_read_as_by_pyyaml(parts: list[str]) -> None:
    """Texts that PyYAML rejects, for example an alias without anchor, may be rejected here as well."""
    text = "".join(f"k{number}: {part}\n" for number, part in enumerate(parts))
    try:
        expected = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    with contextlib.suppress(YamlError):
        assert load_documents(text, "a.yaml") == [expected]


@given(st.lists(VALUES, max_size=3))
def test_round_trip(documents: list[object]) -> None:
    assert load_documents(dump_documents(documents), "a.yaml") == documents


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    with contextlib.suppress(YamlError):
        assert isinstance(load_documents(text, "a.yaml"), list)
