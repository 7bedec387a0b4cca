"""What the definitions of kinds accept and reject, with messages that name the field and the remedy.

Everything that Volcano's clients send must be accepted; what its webhooks reject is rejected where a definition can.
Nothing is stored here: every request is a dry run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import crd_documents, install_crds
from stromboli.kube.objects.catalogue import CRDS
from testbed.plane import ControlPlane
from tests.testing.cleanup import delete_created

Document = dict[str, Any]

_PLACES = {
    "PodGroup": ("scheduling.volcano.sh/v1beta1", "namespaces/default/podgroups"),
    "Queue": ("scheduling.volcano.sh/v1beta1", "queues"),
    "HyperNode": ("topology.volcano.sh/v1alpha1", "hypernodes"),
    "Numatopology": ("nodeinfo.volcano.sh/v1alpha1", "numatopologies"),
    "Job": ("batch.volcano.sh/v1alpha1", "namespaces/default/jobs"),
    "CronJob": ("batch.volcano.sh/v1alpha1", "namespaces/default/cronjobs"),
    "JobFlow": ("flow.volcano.sh/v1alpha1", "namespaces/default/jobflows"),
    "JobTemplate": ("flow.volcano.sh/v1alpha1", "namespaces/default/jobtemplates"),
    "Command": ("bus.volcano.sh/v1alpha1", "namespaces/default/commands"),
    "BindRequest": ("scheduling.stromboli.dev/v1alpha1", "namespaces/default/bindrequests"),
}

RULES = pytest.mark.only("real", because="the embedded server does not evaluate rules in CEL")


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as connected:
        await install_crds(connected)
        await delete_created(connected, "default")
        yield connected


async def create(client: Client, kind: str, document: Document) -> Document:
    """What the server would store. Raises ApiError."""
    version, place = _PLACES[kind]
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "sample"}, **document}
    params = {"dryRun": "All", "fieldValidation": "Strict"}
    answer = await client.request("POST", f"/apis/{version}/{place}", params=params, body=msgspec.json.encode(body))
    stored: Document = msgspec.json.decode(answer)
    return stored


def member(type: str, **selector: Any) -> Document:  # noqa: A002 - as the field is called
    return {"type": type, "selector": selector}


def bind_request(*pods: Document, **spec: Any) -> Document:
    return {"spec": {"scheduler": "stromboli", "pods": list(pods), **spec}}


def bound(**others: Any) -> Document:
    return {"podName": "a", "podUID": "u1", "selectedNode": "n1", **others}


def hypernode(*members: Document, tier: int = 1) -> Document:
    return {"spec": {"tier": tier, "members": list(members)}}


# -- what comes in ----------------------------------------------------------------------------------------------------

TASK: Document = {
    "name": "worker", "replicas": 2, "minAvailable": 1, "dependsOn": {"name": ["master"], "iteration": "any"},
    "policies": [
        {"event": "PodFailed", "action": "RestartTask", "timeout": "10m"}, {"exitCode": 3, "action": "AbortJob"},
    ],
    "partitionPolicy": {
        "totalPartitions": 1, "partitionSize": 2, "minPartitions": 1,
        "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
    },
    "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "main", "image": "busybox", "unheardOf": True}]},
    },
}  # fmt: skip
JOB_SPEC: Document = {
    "minAvailable": 1, "minSuccess": 1, "plugins": {"svc": [], "ssh": ["--no-root"]}, "queue": "research",
    "policies": [{"events": ["*"], "action": "RestartJob"}], "runningEstimate": "2h", "maxRetry": 5,
    "volumes": [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}], "tasks": [TASK],
}  # fmt: skip
PROBE: Document = {
    "httpGetList": [{"taskName": "a", "path": "/", "port": 80, "httpHeader": {"name": "a", "value": "b"}}],
    "tcpSocketList": [{"port": 80}],
    "taskStatusList": [{"taskName": "a", "phase": "Running"}],
}

ACCEPTED: list[tuple[str, str, Document]] = [
    ("a job with many fields", "Job", {"spec": JOB_SPEC}),
    ("a job without fields", "Job", {}),
    (
        "a cron job",
        "CronJob",
        {
            "spec": {
                "schedule": "@daily",
                "timeZone": "Europe/Rome",
                "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": JOB_SPEC},
            },
        },
    ),
    ("a template", "JobTemplate", {"spec": JOB_SPEC}),
    (
        "a flow",
        "JobFlow",
        {
            "spec": {
                "jobRetainPolicy": "retain",
                "flows": [
                    {"name": "a"},
                    {"name": "b", "dependsOn": {"targets": ["a"], "probe": PROBE}, "patch": {"jobSpec": JOB_SPEC}},
                ],
            },
        },
    ),
    (
        "a command, as vcctl sends it",
        "Command",
        {
            "action": "AbortJob",
            "target": {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "name": "a",
                "uid": "u1",
                "controller": True,
                "blockOwnerDeletion": True,
            },
        },
    ),
    ("a group without fields", "PodGroup", {}),
    ("a group with an empty spec", "PodGroup", {"spec": {}}),
    ("a group of any size", "PodGroup", {"spec": {"minMember": 0, "minResources": {}}}),
    ("a group without a queue", "PodGroup", {"spec": {"minMember": 1, "queue": ""}}),
    ("a group that begins with a phase", "PodGroup", {"spec": {"minMember": 3}, "status": {"phase": "Pending"}}),
    (
        "a group that begins with conditions",
        "PodGroup",
        {"status": {"conditions": [{"type": "Scheduled", "status": "True", "transitionID": "", "reason": ""}]}},
    ),
    (
        "a group with roles and amounts",
        "PodGroup",
        {
            "spec": {
                "minMember": 5,
                "minTaskMember": {"ps": 1, "worker": 4},
                "queue": "team.research-1",
                "priorityClassName": "high",
                "minResources": {"cpu": 4, "memory": "1.5Gi", "nvidia.com/gpu": "8", "count/pods": "2e1"},
            }
        },
    ),
    ("a tier by number", "PodGroup", {"spec": {"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}}),
    (
        "a tier by number, and no name",
        "PodGroup",
        {"spec": {"networkTopology": {"mode": "hard", "highestTierAllowed": 2, "highestTierName": ""}}},
    ),
    (
        "sub-groups",
        "PodGroup",
        {
            "spec": {
                "subGroupPolicy": [
                    {
                        "name": "worker",
                        "subGroupSize": 2,
                        "minSubGroups": 1,
                        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
                        "matchLabelKeys": ["volcano.sh/partition-id"],
                        "networkTopology": {"highestTierName": "rack"},
                    }
                ]
            }
        },
    ),
    ("a queue without fields", "Queue", {}),
    (
        "a queue as a program in Go writes it",
        "Queue",
        {
            "metadata": {"name": "sample", "creationTimestamp": None},
            "spec": {"weight": 1, "guarantee": {}},
            "status": {},
        },
    ),
    ("a queue below another", "Queue", {"spec": {"parent": "root", "weight": 65535, "reclaimable": False}}),
    ("root", "Queue", {"metadata": {"name": "root"}, "spec": {"weight": 1, "parent": ""}}),
    (
        "a queue whose amounts agree",
        "Queue",
        {
            "spec": {
                "capability": {"cpu": 8, "memory": "16Gi"},
                "deserved": {"cpu": "8", "memory": "8192Mi"},
                "guarantee": {"resource": {"cpu": "500m"}},
            }
        },
    ),
    (
        "amounts of resources that are not compared",
        "Queue",
        {"spec": {"capability": {"cpu": "1"}, "deserved": {"memory": "1Gi"}, "guarantee": {"resource": {"pods": 9}}}},
    ),
    ("a queue of node groups", "Queue", {"spec": {"affinity": {"nodeGroupAffinity": {}}, "dequeueStrategy": "fifo"}}),
    ("a decision about one pod", "BindRequest", bind_request(bound())),
    (
        "a decision with devices",
        "BindRequest",
        bind_request(
            bound(
                selectedGPUGroups=["g1"],
                receivedResourceType="Fraction",
                receivedGPU={"count": 1, "portionMilli": 500},
                resourceClaimAllocations=[{"name": "gpu", "allocation": {"devices": {"results": [{"pool": "a"}]}}}],
                annotations={"example.com/devices": "0"},
                labels={"example.com/pool": "a"},
            ),
            podGroup="ring",
            podGroupUID="u0",
            epoch=3,
            minMember=0,
            part=2,
            parts=3,
            size=1,
        ),
    ),
    ("a hypernode of named nodes", "HyperNode", hypernode(member("Node", exactMatch={"name": "a"}))),
    ("a hypernode of matching nodes", "HyperNode", hypernode(member("Node", regexMatch={"pattern": "^a-[0-9]+$"}))),
    ("a hypernode of labelled nodes", "HyperNode", hypernode(member("Node", labelMatch={"matchLabels": {"a": "b"}}))),
    ("a hypernode of hypernodes", "HyperNode", hypernode(member("HyperNode", exactMatch={"name": "a"}), tier=2)),
    (
        "the processors of a node",
        "Numatopology",
        {
            "spec": {
                "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "best-effort"},
                "numares": {"cpu": {"allocatable": "0-3", "capacity": 4}},
                "cpuDetail": {"0": {"numa": 0, "socket": 0, "core": 0}},
            }
        },
    ),
]


@pytest.mark.parametrize(("kind", "document"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
async def test_what_clients_of_volcano_send_comes_in(client: Client, kind: str, document: Document) -> None:
    stored = await create(client, kind, document)
    for part in ("spec", "status"):
        kept = stored.get(part, {})
        for field, value in document.get(part, {}).items():
            assert kept.get(field) == value or field == "subGroupPolicy", f"{part}.{field}"


NULLS = [
    ("PodGroup", {"minResources": None, "minTaskMember": None, "networkTopology": None, "queue": None}),
    ("Queue", {"capability": None, "deserved": None, "guarantee": {"resource": None}, "parent": None}),
]


@pytest.mark.parametrize(("kind", "spec"), NULLS)
async def test_nothing_is_as_good_as_left_out(client: Client, kind: str, spec: Document) -> None:
    stored = await create(client, kind, {"spec": spec})
    assert None not in stored["spec"].values()


async def test_the_phase_of_a_new_group_is_kept(client: Client) -> None:
    """Operators write it when they create the group; there is no status part that it could be lost to."""
    stored = await create(client, "PodGroup", {"status": {"phase": "Pending"}})
    assert stored["status"]["phase"] == "Pending"


async def test_a_new_queue_has_no_state_yet(client: Client) -> None:
    stored = await create(client, "Queue", {"status": {"state": "Closed"}})
    assert "status" not in stored


DEFAULTS = [
    ("PodGroup", {"spec": {}}, {"queue": "default"}),
    ("PodGroup", {"spec": {"networkTopology": {}}}, {"networkTopology": {"mode": "hard"}, "queue": "default"}),
    ("Queue", {"spec": {}}, {"weight": 1}),
]


@pytest.mark.parametrize(("kind", "document", "wanted"), DEFAULTS)
async def test_what_is_not_said_is_filled_in(client: Client, kind: str, document: Document, wanted: Document) -> None:
    assert (await create(client, kind, document))["spec"] == wanted


# -- what is refused --------------------------------------------------------------------------------------------------

NETWORK = {"highestTierAllowed": 1, "highestTierName": "rack"}
BOTH_TIERS = "both a tier number and a tier name are set; give highestTierAllowed or highestTierName, not both"


def group(**spec: Any) -> Document:
    return {"spec": spec}


REFUSED: list[tuple[str, str, Document, str]] = [
    ("fewer than no members", "PodGroup", group(minMember=-1), "spec.minMember in body should be greater than or"),
    ("a minimum as a word", "PodGroup", group(minMember="two"), "spec.minMember in body must be of type integer"),
    (
        "a role with fewer than none",
        "PodGroup",
        group(minTaskMember={"ps": -1}),
        "spec.minTaskMember.ps in body should",
    ),
    ("a queue in capitals", "PodGroup", group(queue="Research"), "spec.queue in body should match"),
    ("a queue with a blank", "PodGroup", group(queue="my queue"), "spec.queue in body should match"),
    ("a queue of endless name", "PodGroup", group(queue="q" * 254), "spec.queue: Too long: may not be more than 253"),
    (
        "an amount as a word",
        "PodGroup",
        group(minResources={"cpu": "many"}),
        "spec.minResources.cpu in body should match",
    ),
    (
        "a mode that does not exist",
        "PodGroup",
        group(networkTopology={"mode": "firm"}),
        'supported values: "hard", "soft"',
    ),
    (
        "a tier below zero",
        "PodGroup",
        group(networkTopology={"highestTierAllowed": -1}),
        "highestTierAllowed in body should",
    ),
    (
        "sub-groups without a name",
        "PodGroup",
        group(subGroupPolicy=[{}]),
        "spec.subGroupPolicy[0].name: Required value",
    ),
    (
        "sub-groups of size zero",
        "PodGroup",
        group(subGroupPolicy=[{"name": "a", "subGroupSize": 0}]),
        "subGroupSize in body should",
    ),
    ("sub-groups of one name", "PodGroup", group(subGroupPolicy=[{"name": "a"}, {"name": "a"}]), "Duplicate value"),
    ("a field that does not exist", "PodGroup", group(minMembers=1), 'unknown field "spec.minMembers"'),
    ("a weight of nothing", "Queue", group(weight=0), "spec.weight in body should be greater than or equal to 1"),
    (
        "a weight beyond all others",
        "Queue",
        group(weight=65536),
        "spec.weight in body should be less than or equal to 65535",
    ),
    ("a parent in capitals", "Queue", group(parent="Root"), "spec.parent in body should match"),
    ("a capability as a word", "Queue", group(capability={"cpu": "all"}), "spec.capability.cpu in body should match"),
    ("a strategy that does not exist", "Queue", group(dequeueStrategy="lifo"), 'supported values: "fifo", "traverse"'),
    ("a bind request without pods", "BindRequest", bind_request(), "spec.pods in body should have at least 1"),
    ("a bind request by no scheduler", "BindRequest", bind_request(bound(), scheduler=""), "spec.scheduler in body"),
    (
        "a decision about any pod of that name",
        "BindRequest",
        bind_request({"podName": "a", "selectedNode": "n1"}),
        "spec.pods[0].podUID: Required value",
    ),
    (
        "more than a whole device",
        "BindRequest",
        bind_request(bound(receivedGPU={"count": 1, "portionMilli": 1001})),
        "receivedGPU.portionMilli in body should be less than or equal to 1000",
    ),
    ("a hypernode without a tier", "HyperNode", {"spec": {}}, "spec.tier: Required value"),
    (
        "a hypernode without members",
        "HyperNode",
        {"spec": {"tier": 1, "members": []}},
        "spec.members in body should have at least 1",
    ),
    (
        "a member of another sort",
        "HyperNode",
        hypernode(member("Rack", exactMatch={"name": "a"})),
        'supported values: "Node"',
    ),
    (
        "a member without a name",
        "HyperNode",
        hypernode(member("Node", exactMatch={"name": ""})),
        "exactMatch.name in body should",
    ),
    (
        "an empty pattern",
        "HyperNode",
        hypernode(member("Node", regexMatch={"pattern": ""})),
        "regexMatch.pattern in body should",
    ),
    (
        "a member selected twice",
        "HyperNode",
        hypernode(member("Node", exactMatch={"name": "a"}, regexMatch={"pattern": "a"})),
        "spec.members[0].selector: Too many: 2: must have at most 1",
    ),
]

REFUSED_BY_RULES: list[tuple[str, str, Document, str]] = [
    (
        "a tier by number and name",
        "PodGroup",
        group(networkTopology=NETWORK),
        f"spec.networkTopology: Invalid value: {BOTH_TIERS}",
    ),
    (
        "a tier of sub-groups by number and name",
        "PodGroup",
        group(subGroupPolicy=[{"name": "a", "networkTopology": NETWORK}]),
        f"spec.subGroupPolicy[0].networkTopology: Invalid value: {BOTH_TIERS}",
    ),
    (
        "a queue below itself",
        "Queue",
        group(parent="sample"),
        "spec.parent: Invalid value: a queue cannot be its own ancestor; name another queue, or none",
    ),
    (
        "root below another queue",
        "Queue",
        {"metadata": {"name": "root"}, "spec": {"parent": "default"}},
        "spec.parent: Invalid value: root has no parent; remove spec.parent",
    ),
    (
        "more owed than can be used",
        "Queue",
        group(capability={"cpu": 1, "memory": "1Gi"}, deserved={"cpu": "1", "memory": "1025Mi"}),
        "spec.deserved: Invalid value: deserved cannot exceed capability; lower deserved",
    ),
    (
        "more guaranteed than can be used",
        "Queue",
        group(capability={"cpu": "1"}, guarantee={"resource": {"cpu": "1500m"}}),
        "guarantee.resource: Invalid value: guarantee cannot exceed capability; lower",
    ),
    (
        "more guaranteed than owed",
        "Queue",
        group(deserved={"cpu": "1"}, guarantee={"resource": {"cpu": 2}}),
        "guarantee.resource: Invalid value: guarantee cannot exceed deserved; lower",
    ),
    (
        "a hypernode inside itself",
        "HyperNode",
        hypernode(member("HyperNode", exactMatch={"name": "sample"})),
        "spec.members: Invalid value: a hypernode cannot be a member of itself; name a hypernode of a lower tier",
    ),
    (
        "hypernodes by pattern",
        "HyperNode",
        hypernode(member("HyperNode", regexMatch={"pattern": "a"})),
        "spec.members[0].selector: Invalid value: hypernodes are selected by name only; use exactMatch",
    ),
]


@pytest.mark.parametrize(
    ("kind", "document", "words"),
    [
        *(pytest.param(*case[1:], id=case[0]) for case in REFUSED),
        *(pytest.param(*case[1:], id=case[0], marks=RULES) for case in REFUSED_BY_RULES),
    ],
)
async def test_what_makes_no_sense_is_refused(client: Client, kind: str, document: Document, words: str) -> None:
    with pytest.raises(ApiError) as refused:
        await create(client, kind, document)
    assert words in refused.value.message
    assert refused.value.status in (400, 422)


# -- the definitions themselves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [document["metadata"]["name"] for document in crd_documents()])
async def test_the_server_has_no_complaint(client: Client, name: str) -> None:
    answer = msgspec.json.decode(await client.request("GET", CRDS.path(name=name)))
    conditions = {each["type"]: each["status"] for each in answer["status"]["conditions"]}
    assert conditions.pop("Established") == "True"
    assert conditions.pop("NamesAccepted") == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


SHORT_NAMES = {
    "jobs": ("batch.volcano.sh/v1alpha1", ["vcjob", "vj"]),
    "cronjobs": ("batch.volcano.sh/v1alpha1", ["cronvcjob", "cronvj"]),
    "jobflows": ("flow.volcano.sh/v1alpha1", ["jf"]),
    "jobtemplates": ("flow.volcano.sh/v1alpha1", ["jt"]),
    "podgroups": ("scheduling.volcano.sh/v1beta1", ["pg", "podgroup-v1beta1"]),
    "queues": ("scheduling.volcano.sh/v1beta1", ["q", "queue-v1beta1"]),
    "hypernodes": ("topology.volcano.sh/v1alpha1", ["hn"]),
    "numatopologies": ("nodeinfo.volcano.sh/v1alpha1", ["numatopo"]),
    "bindrequests": ("scheduling.stromboli.dev/v1alpha1", ["br"]),
}


@pytest.mark.parametrize("plural", SHORT_NAMES)
async def test_kinds_have_short_names_and_a_category(client: Client, plural: str) -> None:
    version, names = SHORT_NAMES[plural]
    answer = msgspec.json.decode(await client.request("GET", f"/apis/{version}"))
    (found,) = [each for each in answer["resources"] if each["name"] == plural]
    assert (found["shortNames"], found["categories"]) == (names, ["volcano" if "volcano" in version else "stromboli"])


STATUS_PARTS = {"podgroups": False, "queues": True}


@pytest.mark.parametrize("plural", STATUS_PARTS)
async def test_queues_have_a_status_part_and_groups_have_none(client: Client, plural: str) -> None:
    """Volcano's clients write the status of a group with the group."""
    answer = msgspec.json.decode(await client.request("GET", "/apis/scheduling.volcano.sh/v1beta1"))
    assert (f"{plural}/status" in [each["name"] for each in answer["resources"]]) is STATUS_PARTS[plural]
