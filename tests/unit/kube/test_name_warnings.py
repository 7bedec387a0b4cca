"""Misspelt kinds, fields and annotations are reported with file, line and the nearest name; other fields are not."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.fields.built_in import fields_of
from stromboli.kube.fields.kind_names import KINDS_OF_GROUPS
from stromboli.kube.fields.known_annotations import KNOWN
from stromboli.kube.objects.kinds import KINDS
from stromboli.workloads.reading import read_with_workloads

SOURCES = Path(__file__).parents[3] / "src" / "stromboli"


def notes(text: str) -> list[str]:
    manifests = read_with_workloads(["-"], io.StringIO(text), scheduler_names=())
    return [line.removeprefix("standard input:") for line in manifests.notes]


def manifest(api_version: str, kind: str, rest: str = "") -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: a\n{rest}"


VOLCANO = "scheduling.volcano.sh/v1beta1"
POD = manifest("v1", "Pod", "spec:\n  containers:\n  - name: main\n")
TEMPLATE = "spec:\n  parallelism: 2\n  template:\n    spec:\n      containers:\n      - name: a\n"
JOB = manifest("batch/v1", "Job", TEMPLATE)
VOLCANO_JOB = (
    manifest("batch.volcano.sh/v1alpha1", "Job", "spec:\n  tasks:\n  - name: w\n    replicas: 1\n    template:\n")
    + "      spec: {containers: [{name: a, imagee: x}]}"
)
CASES = [
    ("field in a template of a Volcano Job", VOLCANO_JOB,
     ["10: Job default/a: unknown field spec.tasks[0].template.spec.containers[0].imagee; did you mean "
      "spec.tasks[0].template.spec.containers[0].image?"]),
    ("kind", manifest("v1", "Podd"), ["2: unknown kind Podd (apiVersion v1); did you mean Pod?"]),
    ("kind in lower case", manifest("v1", "pod"), ["2: unknown kind pod (apiVersion v1); did you mean Pod?"]),
    ("kind without its group", manifest("v1", "PodGroup"),
     ["2: unknown kind PodGroup (apiVersion v1); did you mean apiVersion scheduling.volcano.sh/v1beta1?"]),
    ("misspelt group", manifest("scheduling.volcano.s/v1beta1", "Queue"),
     ["2: unknown kind Queue (apiVersion scheduling.volcano.s/v1beta1); did you mean apiVersion "
      "scheduling.volcano.sh/v1beta1?"]),
    ("kind of another group", manifest("v1", "Job"),
     ["2: unknown kind Job (apiVersion v1); did you mean apiVersion batch/v1?"]),
    ("nothing similar", manifest("v1", "Xyzzy"), ["2: unknown kind Xyzzy (apiVersion v1); check kind and apiVersion"]),
    ("field of a custom resource", manifest(VOLCANO, "PodGroup", "spec:\n  queue: q\n  minMembers: 3"),
     ["7: PodGroup default/a: unknown field spec.minMembers; did you mean spec.minMember?"]),
    ("nested field", manifest(VOLCANO, "PodGroup", "spec:\n  networkTopology: {mode: hard, tier: 1}"),
     ["6: PodGroup default/a: unknown field spec.networkTopology.tier; correct or remove it"]),
    ("field of a built-in kind", POD + "    imagee: x",
     ["8: Pod default/a: unknown field spec.containers[0].imagee; did you mean spec.containers[0].image?"]),
    ("field without a similar one", POD + "    gpus: 4",
     ["8: Pod default/a: unknown field spec.containers[0].gpus; correct or remove it"]),
    ("metadata", manifest("v1", "Node").replace("  name: a", "  name: a\n  label: {b: c}"),
     ["5: Node a: unknown field metadata.label; did you mean metadata.labels?"]),
    ("top level", manifest("v1", "Node", "specs: {}"), ["5: Node a: unknown field specs; did you mean spec?"]),
    ("misspelt status", manifest("v1", "Node", "status: {allocatble: {cpu: 1}}"),
     ["5: Node a: unknown field status.allocatble; did you mean status.allocatable?"]),
    ("topology", manifest("kai.scheduler/v1alpha1", "Topology", "spec: {level: []}"),
     ["5: Topology a: unknown field spec.level; did you mean spec.levels?"]),
    ("annotation", manifest("v1", "Pod", "  annotations:\n    scheduling.k8s.io/group-nam: g"),
     ["6: Pod default/a: unknown annotation scheduling.k8s.io/group-nam; did you mean scheduling.k8s.io/group-name?"]),
    ("annotation of Stromboli", manifest("v1", "Pod", "  annotations: {scheduling.stromboli.dev/run-tme: 1h}"),
     ["5: Pod default/a: unknown annotation scheduling.stromboli.dev/run-tme; did you mean "
      "scheduling.stromboli.dev/run-time?"]),
    ("label", manifest("v1", "Pod", "  labels: {volcano.sh/queue-nam: q}"),
     ["5: Pod default/a: unknown label volcano.sh/queue-nam; did you mean volcano.sh/queue-name?"]),
    ("field in the template of a Job", JOB + "        gpus: 4",
     ["11: Job default/a: unknown field spec.template.spec.containers[0].gpus; correct or remove it"]),
    ("annotation in the template of a Job", JOB.replace("  template:", "  template:\n    metadata: {annotations: "
                                                        "{scheduling.k8s.io/group-nam: g}}"),
     ["8: Job default/a: unknown annotation scheduling.k8s.io/group-nam; did you mean scheduling.k8s.io/group-name?"]),
    ("the same in many", "---\n".join(POD.replace("name: a", f"name: a{n}") + "    gpus: 4\n" for n in range(3)),
     ["8: Pod default/a0: unknown field spec.containers[0].gpus; correct or remove it (also in 2 more objects)"]),
    # no warnings
    ("other kinds of Kubernetes", "---\n".join([manifest("v1", "Service")] * 2 + [manifest("v1", "Secret")]),
     ["note: objects of kinds that the scheduler does not read were skipped: 1 Secret, 2 Service"]),
    ("kinds of other projects", manifest("tekton.dev/v1", "PipelineRun"),
     ["note: objects of kinds that the scheduler does not read were skipped: 1 PipelineRun"]),
    ("newer status", manifest("v1", "Pod", "status: {newFieldOfControllers: 1}"), []),
    ("newer kind of Kubernetes", manifest("scheduling.k8s.io/v1beta1", "PodGroup", "spec: {disruptionMode: x}"), []),
    ("annotations of other projects", manifest("v1", "Pod", "  annotations: {example.com/a: b, volcano.sh/x: c}"), []),
    ("annotation of Volcano", manifest("v1", "Pod", "  annotations: {scheduling.volcano.sh/group-name: g}"), []),
    ("older version", manifest("resource.k8s.io/v1beta1", "ResourceClaim", "spec: {devices: {requests: [{count: 1}]}}"),
     []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_misspelt_names_are_reported(text: str, expected: list[str]) -> None:
    assert notes(text) == expected


def test_warnings_are_limited() -> None:
    fields = ", ".join(f"q{number}x: 1" for number in range(150))
    lines = notes(manifest(VOLCANO, "Queue", f"spec: {{{fields}}}"))
    assert len(lines) == 101
    assert lines[-1] == "50 more unknown names are not listed"


def test_every_decoded_kind_is_a_known_kind() -> None:
    assert all(kind in KINDS_OF_GROUPS[group] for group, kind in KINDS)


def test_every_annotation_in_the_code_is_known() -> None:
    pattern = re.compile(r'"((?:[a-z.]*volcano\.sh|[a-z.]*stromboli\.dev|kai\.scheduler|run\.ai)/[a-z][\w.-]*[a-z])"')
    written = {key for file in SOURCES.rglob("*.py") for key in pattern.findall(file.read_text())}
    assert {key for key in written if not re.search(r"/v\d", key)} - KNOWN == set()


EXAMPLES: list[dict[str, Any]] = [
    document
    for name in ("every_field.yaml", "further_kinds.yaml")
    for document in yaml.safe_load_all(Path(__file__).with_name(name).read_text())
    if document and (document["apiVersion"].rpartition("/")[0], document["kind"]) in KINDS
]


def field_paths(value: Any, fields: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the fields of an object whose names the API defines."""
    for key, part in value.items():
        form, below = fields[key]
        yield (*path, key)
        if below is not None and form == "=" and isinstance(part, dict):
            yield from field_paths(part, below, (*path, key))
        elif below is not None and form == "*" and isinstance(part, list):
            for index, item in enumerate(part):
                yield from field_paths(item, below, (*path, key, index))


@st.composite
def with_a_typo(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """Draw a manifest of which one field has a letter too much, and its misspelt name."""
    built_in = [each for each in EXAMPLES if each["apiVersion"] in ("v1", "policy/v1", "scheduling.k8s.io/v1")]
    document = copy.deepcopy(draw(st.sampled_from(built_in)))
    group, _, version = document["apiVersion"].rpartition("/")
    fields = fields_of(group, version, document["kind"])
    kept = ("apiVersion", "kind", "metadata", "name")
    paths = [path for path in field_paths(document, fields) if path[-1] not in kept]
    *steps, name = draw(st.sampled_from(paths))
    holder: Any = document
    for step in steps:
        holder = holder[step]
    cut = draw(st.integers(1, len(str(name))))
    typo = f"{str(name)[:cut]}q{str(name)[cut:]}"
    holder[typo] = holder.pop(name)
    return document, typo


@given(with_a_typo())
def test_any_misspelt_field_is_named(drawn: tuple[dict[str, Any], str]) -> None:
    document, typo = drawn
    text = yaml.safe_dump(document)
    (warning,) = notes(text)
    assert re.search(rf"unknown field \S*\b{typo}; ", warning), warning
    assert typo in text.splitlines()[int(warning.partition(":")[0]) - 1]


def test_valid_fields_have_no_warnings() -> None:
    """The examples have some fields `unread`, which do not exist."""
    unknown = [line for line in notes(yaml.safe_dump_all(EXAMPLES)) if "unknown" in line]
    assert [line for line in unknown if ".unread; " not in line] == []
