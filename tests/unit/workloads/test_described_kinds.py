"""Kinds that the user describes: their pods and groups, and messages about invalid descriptions."""

from __future__ import annotations

import io
import textwrap
from typing import Any

import pytest

from stromboli.kube.manifests.sources import ManifestError
from stromboli.workloads.declared.expansion import read_described_kinds
from tests.unit.workloads.inputs import expanded, groups_of, messages_of, pods_of, template, workload

RUN = """
apiVersion: example.com/v1
kind: Run
minMember: spec.minimum
queue: spec.queue
priorityClassName: spec.priority
suspend: spec.paused
roles:
- name: leader
  template: spec.leader
- name: worker
  replicas: spec.workers.count
  minReplicas: 1
  template: spec.workers.template
"""
POOLS = """
apiVersion: example.com/v1
kind: Run
roles:
- name: spec.pools[*].name
  replicas: spec.pools[*].size
  template: spec.pools[*].podSpec
"""
REPLICAS = """
apiVersion: example.com/v1
kind: Run
group: owner
schedulerName: stromboli
roles:
- {template: "spec.replicaSpecs[*].template", replicas: "spec.replicaSpecs[*].replicas"}
"""
LEADER: dict[str, Any] = {"leader": template(), "workers": {"count": 2, "template": template()}}


def read(description: str, spec: dict[str, Any]) -> Any:
    described = read_described_kinds(["-"], io.StringIO(description))
    return expanded(workload("example.com/v1", "Run", spec), described=described)


def test_roles_have_their_replicas_and_share_a_group() -> None:
    found = read(RUN, {**LEADER, "minimum": 2, "queue": "q", "priority": "p"})
    assert list(pods_of(found)) == ["train-leader-0", "train-worker-0", "train-worker-1"]
    spec = groups_of(found)["train"].spec
    assert (spec.min_member, spec.min_task_member, spec.queue, spec.priority_class_name) == (2, {"worker": 1}, "q", "p")
    assert spec.min_resources == {"cpu": "2"}
    pod = pods_of(found)["train-worker-0"]
    assert (pod.metadata.annotations or {})["volcano.sh/task-spec"] == "worker"


@pytest.mark.parametrize(
    ("description", "spec", "pods", "groups"),
    [
        (RUN, {"leader": template()}, ["train-leader-0"], {"train": 1}),
        (RUN, {**LEADER, "paused": True}, [], {}),
        (POOLS, {"pools": [{"name": "a", "size": 2, "podSpec": template()["spec"]}, {"podSpec": template()["spec"]}]},
         ["train-a-0", "train-a-1", "train-1-0"], {"train": 3}),
        (REPLICAS, {"replicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": []}}}}},
         ["train-worker-0", "train-worker-1"], {"podgroup-train": 1}),
    ],
    ids=["role that is absent", "suspended", "list of pod specs", "map of roles by owner"],
)  # fmt: skip
def test_described_object_has_pods_and_groups(
    description: str, spec: dict[str, Any], pods: list[str], groups: dict[str, int]
) -> None:
    found = read(description, spec)
    assert (found.problems, found.unjudged) == ([], [])
    assert list(pods_of(found)) == pods
    assert {name: group.spec.min_member for name, group in groups_of(found).items()} == groups


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "Run train: spec.leader: has no pod template; write one, or correct the description"),
        ({**LEADER, "workers": {"count": "2"}}, "Run train: spec.workers.count: expected an integer, got a string"),
        ({"workers": {"count": 2}}, "Run train: spec.workers.template.spec: is missing; write the spec of its pods"),
        ({**LEADER, "queue": 3}, "Run train: spec.queue: expected a string, got an integer"),
    ],
    ids=["no template", "replicas", "role without template", "queue"],
)
def test_object_that_contradicts_its_description_is_reported(spec: dict[str, Any], message: str) -> None:
    found = read(RUN, spec)
    assert found.objects == []
    assert message in str(found.problems[0])


ROLE = "roles:\n- {name: a, template: spec.template}\n"
HEAD = "apiVersion: example.com/v1\nkind: Run\n"
BAD = [
    ("not a map", "- 1\n", "1: kind: expected the description of a kind; write a map with apiVersion"),
    ("no kind", "apiVersion: example.com/v1\n" + ROLE, "1: kind: kind: is missing; write the kind"),
    ("no roles", HEAD, "1: kind Run: roles: is missing; write at least one role with a template"),
    ("empty roles", HEAD + "roles: []\n", "3: kind Run: roles: is empty"),
    ("misspelt field", HEAD + "minMembers: 3\n" + ROLE,
     "3: kind Run: minMembers: unknown field; did you mean minMember?"),
    ("unknown field of a role", HEAD + "roles:\n- {name: a, template: spec.t, colour: red}\n",
     "4: kind Run: roles[0].colour: unknown field; write one of template, name, replicas, minReplicas"),
    ("no template", HEAD + "roles:\n- name: a\n",
     "4: kind Run: roles[0].template: is missing; write a field such as"),
    ("no name", HEAD + "roles:\n- template: spec.template\n", "4: kind Run: roles[0].name: is missing; write the name"),
    ("path", HEAD + "queue: .spec.queue\n" + ROLE, "3: kind Run: queue: '.spec.queue' is not a field; write a field"),
    ("type", HEAD + "queue: 3\n" + ROLE, "3: kind Run: queue: expected a string, got an integer"),
    ("negative", HEAD + "minMember: -1\n" + ROLE, "3: kind Run: minMember: must not be negative, got -1"),
    ("grouping", HEAD + "group: all\n" + ROLE, "3: kind Run: group: Invalid enum value 'all'"),
    ("wildcard outside", HEAD + "queue: 'spec.pools[*].queue'\n" + ROLE,
     "3: kind Run: queue: 'spec.pools[*].queue' stands for several fields"),
    ("other wildcard", HEAD + "roles:\n- {name: a, template: spec.t, replicas: 'spec.pools[*].size'}\n",
     "4: kind Run: roles[0].replicas: its [*] is not that of the template"),
    ("two wildcards", HEAD + "roles:\n- {template: 'spec.a[*].b[*]'}\n",
     "4: kind Run: roles[0].template: has more than one [*]"),
    ("kind that is read", "apiVersion: v1\nkind: Pod\n" + ROLE, "2: kind Pod: kind: Pod is read as it is"),
    ("twice", f"{HEAD}{ROLE}---\n{HEAD}{ROLE}", "7: kind Run: kind: is described already; remove one"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_invalid_description_is_rejected_with_line_field_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as error:
        read_described_kinds(["-"], io.StringIO(textwrap.dedent(text)))
    assert str(error.value).startswith(f"standard input:{message}")


def test_kind_without_a_description_cannot_be_judged() -> None:
    found = expanded(workload("example.com/v1", "Run", LEADER))
    assert found.unjudged == ["Run default/train"]
    assert messages_of(found) == [
        "Run default/train: the pods of this kind (apiVersion example.com/v1) are not known; describe it with --kinds"
    ]
