"""Manifests in stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.cli.stages import read_stages

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {annotations}}}\n"


def pod(name: str, after: str = "") -> str:
    annotations = f'{{scheduling.stromboli.dev/arrives-after: "{after}"}}' if after else "{}"
    return POD.format(name=name, annotations=annotations)


def test_files_are_ordered_by_arrival_and_captioned_by_their_first_comment(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"# Later.\n{pod('b', '90s')}---\n{pod('c')}")
    (tmp_path / "b.yaml").write_text(pod("a"))
    stages = read_stages([str(tmp_path)])
    assert [(stage.at, stage.caption, len(stage.documents)) for stage in stages] == [(0.0, "", 1), (90.0, "Later.", 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (pod("a", "soon"), "metadata.annotations[scheduling.stromboli.dev/arrives-after]: "),
        ("just text", "a.yaml:1: document 1: expected a Kubernetes object, got a string; "),
        ("kind: List\nitems: 1", "a.yaml:2: List: items: expected a list, got an integer; "),
        ("kind: List\nitems: [1]\n", "a.yaml:2: document 1: expected a Kubernetes object, got an integer; "),
        ("apiVersion: v1\nkind: Podd", "a.yaml:2: unknown kind Podd (apiVersion v1); did you mean Pod?"),
        (f"{pod('a', '1s')}\nspec: []", "a.yaml:5: Pod a: spec: expected a map, got a list; "),
    ],
    ids=["invalid duration", "no object", "no items", "item that is no object", "misspelt kind", "invalid field"],
)
def test_invalid_manifests_are_refused_with_their_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"a\.yaml") as refused:
        read_stages([str(tmp_path)])
    assert message in str(refused.value)


def test_kind_of_another_project_is_not_judged_by_its_name(tmp_path: Path) -> None:
    """Knative has a Service, too."""
    (tmp_path / "a.yaml").write_text("apiVersion: serving.knative.dev/v1\nkind: Service\nspec: {template: {}}\n")
    (stage,) = read_stages([str(tmp_path)])
    assert len(stage.documents) == 1
