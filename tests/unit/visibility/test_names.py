"""Names of other namespaces in texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.visibility.names import HiddenNames

OTHERS = {"team-b", "kube-system", "2", "a"}

TEXTS = {
    "key": ("preempted by team-b/urgent", "preempted by other-namespace/1"),
    "own key": ("PodGroup team-a/train has 2 pods", "PodGroup team-a/train has 2 pods"),
    "key with a colon": ("PodGroup team-b/x: too small", "PodGroup other-namespace/1: too small"),
    "key of a native group": ("team-b/scheduling.k8s.io:x waits", "other-namespace/1 waits"),
    "same key twice": ("team-b/x, team-b/y, team-b/x", "other-namespace/1, other-namespace/2, other-namespace/1"),
    "namespace that is gone": ("in favour of old-team/urgent", "in favour of other-namespace/1"),
    "namespace alone": ("namespace team-b has no quota", "namespace other-namespace has no quota"),
    "cut within the name": ("preempted by team-b/urg...", "preempted by other-namespace/1..."),
    "cut within the namespace": ("preempted by team-...", "preempted by team-..."),
    "cut within another namespace": ("reserved for kube-sys...", "reserved for other-namespace..."),
    "numbers": ("2/3 are ready", "2/3 are ready"),
    "resource": ("needs 2 nvidia.com/gpu", "needs 2 nvidia.com/gpu"),
    "label": ("taint a.b/c=d:NoSchedule", "taint a.b/c=d:NoSchedule"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_names_of_other_namespaces_become_numbers(case: str) -> None:
    text, expected = TEXTS[case]
    assert HiddenNames(("team-a",), OTHERS).hide(text) == expected


def test_keys_of_data_are_hidden_like_values() -> None:
    names = HiddenNames(("team-a",), OTHERS)
    value = {"team-b/x": ["team-b/x", {"why": "for team-b/y"}], "team-a/z": 3}
    assert names.in_values(value) == {
        "other-namespace/1": ["other-namespace/1", {"why": "for other-namespace/2"}], "team-a/z": 3
    }  # fmt: skip


_LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
_NAME = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,12}[a-z0-9])?", fullmatch=True)
_AROUND = st.sampled_from(["", " ", ", ", "(", ")", ": ", "; ", ". ", "'", '"', "\n", "  "])


@given(_LABEL, st.lists(st.tuples(_LABEL, _NAME, _AROUND, _AROUND), min_size=1, max_size=4))
def test_no_key_of_another_namespace_remains(own: str, keys: list[tuple[str, str, str, str]]) -> None:
    others = {namespace for namespace, *_ in keys} - {own, "other-namespace"}
    text = "".join(f" {before}{namespace}/{name}{after} " for namespace, name, before, after in keys)
    hidden = HiddenNames((own,), others).hide(text)
    for namespace, name, *_ in keys:
        is_number = namespace.isdecimal() and name.isdecimal()
        if namespace in others and not is_number:
            assert f"{namespace}/{name}" not in hidden.replace("other-namespace/", "")
