"""YAML bodies of the embedded API server: the same values as in manifests, and no expansion of nested aliases."""

from __future__ import annotations

import tracemalloc

import pytest

from stromboli.local.api_server.errors import StatusError
from stromboli.local.http.bodies import decoded

YAML = "application/yaml"


def nested_aliases(depth: int) -> bytes:
    """A few lines that stand for ten to the power of `depth` strings."""
    lines = ["a0: &a0 [" + ", ".join(["lol"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, depth)]
    return "\n".join(lines).encode()


def test_nested_aliases_are_rejected_before_they_are_expanded() -> None:
    body = nested_aliases(9)
    assert len(body) < 600
    tracemalloc.start()
    with pytest.raises(StatusError, match="aliases add more than 10,000 values"):
        decoded(body, YAML)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_few_aliases_are_allowed() -> None:
    assert decoded(b"one: &one {x: 1}\ntwo: *one", YAML) == {"one": {"x": 1}, "two": {"x": 1}}


INVALID = [(b"a: [", "decoding YAML"), (b"\xff", "decoding"), (b"a: 1\n---\nb: 2", "one document")]


@pytest.mark.parametrize(("body", "words"), INVALID)
def test_invalid_yaml_is_a_bad_request(body: bytes, words: str) -> None:
    with pytest.raises(StatusError, match=words):
        decoded(body, YAML)
