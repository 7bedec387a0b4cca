"""Argo Workflows: parameters, patches of pods, and the workloads that resource templates create."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.kube.objects.storage import PersistentVolumeClaim
from tests.unit.workloads.inputs import expanded, groups_of, messages_of, pods_of, workload

ARGO = "argoproj.io/v1alpha1"
REQUESTS = {"requests": {"cpu": "{{inputs.parameters.cpu}}"}}
POD = {"name": "pod", "inputs": {"parameters": [{"name": "cpu", "default": "1"}]},
       "container": {"image": "example/main", "resources": REQUESTS}}  # fmt: skip


def workflow(*templates: dict[str, Any], **spec: Any) -> dict[str, Any]:
    fields = {"entrypoint": "main", "schedulerName": "volcano", "templates": list(templates), **spec}
    return workload(ARGO, "Workflow", fields)


def step(name: str, template: str = "pod", **fields: Any) -> dict[str, Any]:
    return {"name": name, "template": template, **fields}


def parameters(**values: Any) -> dict[str, Any]:
    return {"parameters": [{"name": name, "value": value} for name, value in values.items()]}


CPUS = [
    ("default of the template", [step("a")], {}, {"train-a": "1"}),
    ("argument", [step("a", arguments=parameters(cpu="2"))], {}, {"train-a": "2"}),
    ("number as argument", [step("a", arguments=parameters(cpu=3))], {}, {"train-a": "3"}),
    ("parameter of the workflow", [step("a", arguments=parameters(cpu="{{workflow.parameters.cpu}}"))],
     {"arguments": parameters(cpu="4")}, {"train-a": "4"}),
    ("items", [step("a", arguments=parameters(cpu="{{item}}"), withItems=["1", "2"])], {},
     {"train-a-0": "1", "train-a-1": "2"}),
    ("fields of items", [step("a", arguments=parameters(cpu="{{item.cpu}}"), withItems=[{"cpu": 5}, {"cpu": "6"}])],
     {}, {"train-a-0": "5", "train-a-1": "6"}),
    ("sequence", [step("a", arguments=parameters(cpu="{{item}}"), withSequence={"count": "2", "start": "3"})],
     {}, {"train-a-0": "3", "train-a-1": "4"}),
    ("format of a sequence",
     [step("a", arguments=parameters(cpu="{{item}}"), withSequence={"count": 2, "format": "1%d"})],
     {}, {"train-a-0": "10", "train-a-1": "11"}),
    ("sequence to an end", [step("a", arguments=parameters(cpu="{{item}}"), withSequence={"start": "2", "end": "1"})],
     {}, {"train-a-0": "2", "train-a-1": "1"}),
    ("list as parameter", [step("a", arguments=parameters(cpu="{{item}}"), withParam="{{workflow.parameters.all}}")],
     {"arguments": parameters(all="[1, 2]")}, {"train-a-0": "1", "train-a-1": "2"}),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "spec", "cpus"), [case[1:] for case in CPUS], ids=[case[0] for case in CPUS])
def test_known_parameters_are_filled_in(steps: list[Any], spec: dict[str, Any], cpus: dict[str, str]) -> None:
    found = expanded(workflow({"name": "main", "steps": [steps]}, POD, **spec))
    assert not found.problems
    requests = {name: (pod.spec.containers or [])[0].resources for name, pod in pods_of(found).items()}
    assert {name: (each.requests or {})["cpu"] for name, each in requests.items() if each} == cpus


def task(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "template": "pod", **fields}


DAG = [task("a"), task("b", depends="a.Succeeded || a.Failed"), task("c"), task("d", dependencies=["c"]), task("e")]


@pytest.mark.parametrize(
    ("target", "pods"),
    [("", ["a", "c", "e"]), ("b", ["a"]), ("d {{workflow.parameters.more}}", ["c", "e"])],
    ids=["all", "one", "parameter"],
)
def test_tasks_start_that_depend_on_no_other_and_lead_to_a_target(target: str, pods: list[str]) -> None:
    found = expanded(
        workflow({"name": "main", "dag": {"target": target, "tasks": DAG}}, POD, arguments=parameters(more="e"))
    )
    assert list(pods_of(found)) == [f"train-{name}" for name in pods]


def test_template_runs_as_many_pods_at_once_as_its_parallelism() -> None:
    inner = {"name": "inner", "parallelism": 2, "steps": [[step("b", withItems=["1", "2", "3"])]]}
    found = expanded(workflow({"name": "main", "steps": [[step("a"), step("c", "inner"), step("d")]]}, inner, POD))
    assert list(pods_of(found)) == ["train-a", "train-c-b-0", "train-c-b-1", "train-d"]
    assert "it runs 2 pods at once" in str(messages_of(found))


def test_defaults_of_templates_come_before_those_of_the_workflow() -> None:
    defaults = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "a"}]}
    main = {"name": "main", "container": CONTAINER, "tolerations": [{"key": "b"}]}
    found = expanded(workflow(main, templateDefaults=defaults, nodeSelector={"disk": "hdd"}))
    spec = pods_of(found)["train"].spec
    assert (spec.node_selector, [each.key for each in spec.tolerations or ()]) == ({"disk": "ssd"}, ["b"])


def test_list_of_an_earlier_step_is_planned_as_one_pod() -> None:
    steps = [step("a", withParam="{{steps.b.outputs.result}}")]
    found = expanded(workflow({"name": "main", "steps": [steps]}, POD))
    assert list(pods_of(found)) == ["train-a"]
    assert "the number of pods of a is known when the workflow runs; one is planned" in str(messages_of(found))


CONTAINER = {"image": "example/main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, "env": [{"name": "A"}]}
PATCHES = [
    ("requests by name", '{"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}',
     {"requests": {"cpu": "2", "memory": "1Gi"}}, None),
    ("yaml", "containers:\n- name: main\n  resources:\n    limits:\n      example.com/gpu: 1\n",
     {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"example.com/gpu": 1}}, None),
    ("removal", '{"containers": [{"name": "main", "resources": null}]}', None, None),
    ("field of the pod", "priorityClassName: urgent", {"requests": {"cpu": "1", "memory": "1Gi"}}, "urgent"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "resources", "priority"), [case[1:] for case in PATCHES], ids=[c[0] for c in PATCHES]
)
def test_patch_of_a_template_is_merged_by_name(
    patch: str, resources: dict[str, Any] | None, priority: str | None
) -> None:
    found = expanded(workflow({"name": "main", "container": CONTAINER, "podSpecPatch": patch}))
    spec = pods_of(found)["train"].spec
    container = (spec.containers or [])[0]
    present = container.resources
    parts = present and {name: getattr(present, name) for name in ("requests", "limits") if getattr(present, name)}
    assert (parts, spec.priority_class_name) == (resources, priority)


def test_patch_of_a_template_comes_after_that_of_the_workflow() -> None:
    main = {"name": "main", "container": CONTAINER, "podSpecPatch": "priorityClassName: own"}
    found = expanded(workflow(main, podSpecPatch="priorityClassName: urgent\nnodeSelector: {disk: ssd}"))
    spec = pods_of(found)["train"].spec
    assert (spec.priority_class_name, spec.node_selector) == ("own", {"disk": "ssd"})


BAD_PATCHES = [
    ("{{inputs.parameters.x}}", "spec.templates[0].podSpecPatch: the value of {{inputs.parameters.x}} is known when"),
    ("[1]", "spec.templates[0].podSpecPatch: is not a map of fields of a pod"),
    ("a: [", "spec.templates[0].podSpecPatch: "),
]


@pytest.mark.parametrize(("patch", "message"), BAD_PATCHES)
def test_bad_patch_is_reported_with_its_field(patch: str, message: str) -> None:
    found = expanded(workflow({"name": "main", "container": CONTAINER, "podSpecPatch": patch}))
    assert [message in str(each) for each in found.problems] == [True], list(map(str, found.problems))
    assert pods_of(found) == {}


def test_pods_have_the_volumes_that_they_mount_and_the_workflow_has_claims() -> None:
    claim = {"metadata": {"name": "work"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    volumes: list[Any] = [{"name": name, "emptyDir": {}} for name in ("cache", "other")]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("work", "cache")]
    main = {"name": "main", "container": {"image": "example/main", "volumeMounts": mounts}}
    found = expanded(workflow(main, volumes=volumes, volumeClaimTemplates=[claim]))
    mounted = {each.name: each.persistent_volume_claim for each in pods_of(found)["train"].spec.volumes or ()}
    assert {name: claim and claim.claim_name for name, claim in mounted.items()} == {
        "cache": None,
        "work": "train-work",
    }
    assert [each.metadata.name for each in found.objects if isinstance(each, PersistentVolumeClaim)] == ["train-work"]


def resource(manifest: str, action: str = "create") -> dict[str, Any]:
    return {"name": "main", "resource": {"action": action, "manifest": manifest}}


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {generateName: inner-}
spec:
  parallelism: 2
  template: {spec: {schedulerName: volcano, containers: [{name: main, image: "example/{{workflow.name}}"}]}}
"""


def test_workload_of_a_resource_template_is_planned_with_the_pod_that_creates_it() -> None:
    found = expanded(workflow(resource(JOB)))
    assert (found.problems, list(pods_of(found))) == ([], ["train", "inner-0", "inner-1"])
    assert list(groups_of(found)) == ["podgroup-inner", "podgroup-train"]
    assert (pods_of(found)["inner-0"].spec.containers or [])[0].image == "example/train"


@pytest.mark.parametrize(
    ("template", "note"),
    [
        (resource(JOB, "delete"), ""),
        (resource(JOB.replace("workflow.name", "steps.a.outputs.result")),
         "is not planned: {{steps.a.outputs.result}} of its manifest is known when it runs"),
        ({"name": "main", "resource": {"action": "create", "manifestFrom": {"artifact": {"name": "m"}}}},
         "is not planned: its manifest is known when it runs"),
        (resource("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"), ""),
        (resource("apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: f}\nspec: {template: {spec: "
                  "{containers: [{name: a}]}}}\n"), "the Foo that it creates is not planned"),
    ],
    ids=["deleted", "unknown parameter", "artifact", "without pods", "unknown kind"],
)  # fmt: skip
def test_resource_template_without_known_pods_is_one_pod(template: dict[str, Any], note: str) -> None:
    found = expanded(workflow(template))
    assert (found.problems, list(pods_of(found))) == ([], ["train"])
    assert [note in message for message in messages_of(found)] == ([True] if note else [])


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("a: [", "spec.templates[0].resource"),
        (JOB.replace("parallelism: 2", "parallelism: -1"),
         "spec.templates[0].resource: Job default/inner-: spec.parallelism: must be from 0"),
    ],
    ids=["syntax", "field"],
)  # fmt: skip
def test_bad_manifest_of_a_resource_template_is_an_error_of_the_workflow(manifest: str, message: str) -> None:
    found = expanded(workflow(resource(manifest)))
    assert [message in str(each) for each in found.problems] == [True], list(map(str, found.problems))
