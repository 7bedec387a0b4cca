"""What is refused at the door, in which words, and what comes in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from stromboli.admission.facts import AUTHORISATION, FROZEN_FIELDS, PRIORITIES, PRIORITY_CLASSES, AdmissionPolicy
from stromboli.admission.requests import Request, User
from stromboli.admission.review import review
from tests.unit.admission.requests import ADMINISTRATOR, ALICE, CONTROLLER, FACTS, TERMS, WIDE, Document, pod, request
from tests.unit.admission.requests import queue as world_queue

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"


def told(asked: Request, terms: AdmissionPolicy = TERMS) -> str:
    """The message of a refusal; empty for what comes in."""
    verdict = review(asked, FACTS, terms)
    return "" if verdict.is_allowed else verdict.message


def used(asked: Request, terms: AdmissionPolicy = TERMS) -> set[str]:
    """The queues that whoever asks must be allowed to use."""
    return {use.queue for use in review(asked, FACTS, terms).uses}


class Case(NamedTuple):
    story: str
    kind: str
    document: Document
    #: How the message goes on after the name of the object; empty for what comes in.
    refusal: str = ""

    def __str__(self) -> str:
        return self.story


def group(**spec: Any) -> Document:
    return {"spec": {"minMember": 1, "queue": "default", **spec}}


def sub_groups(**policy: Any) -> Document:
    return group(minMember=4, subGroupPolicy=[{"name": "a", "matchLabelKeys": ["part"], **policy}])


def queue(annotations: dict[str, str] | None = None, **spec: Any) -> Document:
    return {"metadata": {"name": spec.pop("name", "story"), "annotations": annotations or {}}, "spec": spec}


def tree(path: str, weights: str) -> Document:
    return queue({"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights})


def hyper_node(*members: Document, tier: int | None = 1, name: str = "story") -> Document:
    return {"metadata": {"name": name}, "spec": {"tier": tier, "members": list(members)}}


def nodes(**selector: Any) -> Document:
    return {"type": "Node", "selector": selector}


def topology(*labels: str) -> Document:
    return {"spec": {"levels": [{"nodeLabel": label} for label in labels]}}


MINIMUM = "spec.minMember: "
TIERS = "a tier has a number or a name; keep highestTierAllowed or highestTierName, not both"
EITHER = "name another, or leave it empty"
HIERARCHY = "metadata.annotations[volcano.sh/hierarchy"

SENSE = [
    Case("a group", "PodGroup", group()),
    Case("a group of nobody", "PodGroup", group(minMember=0)),
    Case("fewer than none", "PodGroup", group(minMember=-1), f"{MINIMUM}must not be negative, got -1; write 0 or more"),
    Case("more than can be counted", "PodGroup", group(minMember=2**31),
         f"{MINIMUM}expected an integer of at most 2147483647; write a smaller number"),
    Case("a role of fewer than none", "PodGroup", group(minTaskMember={"ps": -1}),
         "spec.minTaskMember.ps: must not be negative, got -1; write 0 or more"),
    Case("amounts that are none", "PodGroup", group(minResources={"cpu": "many"}), "spec.minResources.cpu: "),
    Case("sub-groups that agree", "PodGroup", sub_groups(subGroupSize=2, minSubGroups=2)),
    Case("sub-groups that need more than the group", "PodGroup", sub_groups(subGroupSize=3, minSubGroups=2),
         f"{MINIMUM}is 4, but the sub-groups need 6 members; write 6, or ask for less"),
    Case("sub-groups that cannot be told apart", "PodGroup", sub_groups(minSubGroups=1, matchLabelKeys=[]),
         "spec.subGroupPolicy[0].minSubGroups: no sub-group can ever be there; name the labels"),
    Case("sub-groups of nobody", "PodGroup", sub_groups(subGroupSize=0), "spec.subGroupPolicy[0].subGroupSize: must"),
    Case("two tiers", "PodGroup", group(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
         f"spec.networkTopology: {TIERS}"),
    Case("two tiers of a part", "PodGroup",
         sub_groups(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
         f"spec.subGroupPolicy[0].networkTopology: {TIERS}"),
    Case("an odd mode", "PodGroup", group(networkTopology={"mode": "firm"}),
         "spec.networkTopology.mode: 'firm' is not known; write hard or soft"),
    Case("a tier below all", "PodGroup", group(networkTopology={"highestTierAllowed": -1}),
         "spec.networkTopology.highestTierAllowed: must not be negative, got -1; write 0 or more"),
    Case("a queue that is not there", "PodGroup", group(queue="nowhere"),
         "spec.queue: queue 'nowhere' does not exist; create it, or name another"),
    Case("a closed queue", "PodGroup", group(queue="shut"),
         "spec.queue: queue 'shut' is Closed; name one that is Open, or ask for it to be opened"),
    Case("a closing queue", "PodGroup", group(queue="shutting"), "spec.queue: queue 'shutting' is Closing; name one"),
    Case("all that is wrong", "PodGroup", group(minMember=-1, queue="nowhere"),
         f"{MINIMUM}must not be negative, got -1; write 0 or more; and spec.queue: queue 'nowhere' does not exist"),
    Case("a queue", "Queue", queue(weight=2, parent="science")),
    Case("a queue below the root", "Queue", queue(parent="root")),
    Case("the root", "Queue", queue(name="root", parent="root")),
    Case("something above the root", "Queue", queue(name="root", parent="science"),
         "spec.parent: there is nothing above the root; leave it empty"),
    Case("a weight of nothing", "Queue", queue(weight=0), "spec.weight: must be at least 1, got 0"),
    Case("no parent", "Queue", queue(parent="nobody"), f"spec.parent: queue 'nobody' does not exist; {EITHER}"),
    Case("its own parent", "Queue", queue(parent="story"), f"spec.parent: a queue cannot lie below itself; {EITHER}"),
    Case("a circle", "Queue", queue(name="science", parent="physics", capability={"cpu": "10"}),
         f"spec.parent: the queue is its own ancestor; {EITHER}"),
    Case("more owed than allowed", "Queue", queue(deserved={"cpu": "3"}, capability={"cpu": "2"}),
         "spec.deserved.cpu: 3 is more than spec.capability, 2; lower it, or raise the other"),
    Case("more guaranteed than owed", "Queue", queue(guarantee={"resource": {"cpu": "3"}}, deserved={"cpu": "500m"}),
         "spec.guarantee.resource.cpu: 3 is more than spec.deserved, 500m; lower it, or raise the other"),
    Case("amounts that agree", "Queue", queue(deserved={"cpu": "2"}, capability={"cpu": "2", "memory": "1Gi"})),
    Case("guarantees within the parent", "Queue", queue(parent="science", guarantee={"resource": {"cpu": "4"}})),
    Case("guarantees beyond the parent", "Queue", queue(parent="science", guarantee={"resource": {"cpu": "5"}}),
         "spec.guarantee.resource: the queues below 'science' are guaranteed 11 of cpu, and it may use 10; lower"),
    Case("a parent that gets less", "Queue", queue(name="science", capability={"cpu": "5"}),
         "spec.guarantee.resource: the queues below 'science' are guaranteed 6 of cpu, and it may use 5; lower"),
    Case("a place in a tree", "Queue", tree("root/a/b", "1/2/4")),
    Case("a tree without a root", "Queue", tree("a/b", "1/2"), f"{HIERARCHY}]: 'a/b' is no path from the root; write"),
    Case("a level without a name", "Queue", tree("root//b", "1/2/3"), f"{HIERARCHY}]: 'root//b' is no path"),
    Case("a weight too few", "Queue", tree("root/a/b", "1/2"), f"{HIERARCHY}-weights]: '1/2' has not one weight per"),
    Case("a weight that is none", "Queue", tree("root/a", "1/nan"), f"{HIERARCHY}-weights]: '1/nan' holds what is no"),
    Case("classes with blanks", "Queue", queue({PRIORITY_CLASSES: "high low"}),
         f"metadata.annotations[{PRIORITY_CLASSES}]: names of priority classes have no blanks; put commas between"),
    Case("a hypernode", "HyperNode", hyper_node(nodes(regexMatch={"pattern": "^a-[0-9]+$"}))),
    Case("members that come later", "HyperNode", hyper_node(nodes(exactMatch={"name": "not-there"}))),
    Case("no tier", "HyperNode", hyper_node(tier=None), "spec.tier: must be a number that is not negative; write 0"),
    Case("the name of the cluster", "HyperNode", hyper_node(name="<cluster-top-hypernode>"), "metadata.name: this"),
    Case("a pattern that is none", "HyperNode", hyper_node(nodes(regexMatch={"pattern": "a("})),
         "spec.members[0].selector.regexMatch.pattern: "),
    Case("a pattern that looks back", "HyperNode", hyper_node(nodes(regexMatch={"pattern": r"(a)\1"})),
         "spec.members[0].selector.regexMatch.pattern: "),
    Case("two ways to choose", "HyperNode", hyper_node(nodes(exactMatch={"name": "a"}, labelMatch={})),
         "spec.members[0].selector: exactly one of exactMatch, regexMatch and labelMatch is needed"),
    Case("a hypernode by pattern", "HyperNode",
         hyper_node({"type": "HyperNode", "selector": {"regexMatch": {"pattern": "a"}}}),
         "spec.members[0].selector: a member of type HyperNode is chosen by exactMatch alone"),
    Case("a topology", "Topology", topology("zone", "rack")),
    Case("no level", "Topology", topology(), "spec.levels: has 0 levels; write between 1 and 16"),
    Case("a level twice", "Topology", topology("rack", "rack"),
         "spec.levels[1].nodeLabel: 'rack' is a level already; name each label once"),
    Case("a pod", "Pod", pod()),
    Case("a pod of others makes no difference", "Pod", pod(scheduler="other", group="else/where")),
    Case("a group of another namespace", "Pod", pod(group="else/where"),
         "metadata.annotations[scheduling.k8s.io/group-name]: 'else/where' would be in another namespace; members are"),
    Case("a request that is none", "Pod", pod(cpu="-1"), "spec.containers[0].resources.requests.cpu"),
    Case("a plain pod in a closed queue", "Pod", pod(annotations={QUEUE_NAME: "shut"}),
         f"metadata.annotations[{QUEUE_NAME}]: queue 'shut' is Closed; name one"),
    Case("a plain pod in no queue, by label", "Pod", pod(labels={"volcano.sh/queue-name": "nowhere"}),
         "metadata.labels[volcano.sh/queue-name]: queue 'nowhere' does not exist; create it"),
    Case("a pod of a group that comes later", "Pod", pod(group="later", annotations={QUEUE_NAME: "shut"})),
    Case("a job", "Job", {"spec": {"template": pod()}}),
    Case("a job in no queue", "Job", {"spec": {"template": pod(annotations={QUEUE_NAME: "nowhere"})}},
         f"spec.template.metadata.annotations[{QUEUE_NAME}]: queue 'nowhere' does not exist; create it"),
    Case("a job that names a queue for its pods", "Job",
         {"metadata": {"annotations": {QUEUE_NAME: "shut"}}, "spec": {"template": pod()}},
         "metadata.annotations: queue 'shut' is Closed; name one"),
    Case("a job whose pods go elsewhere", "Job", {"spec": {"template": pod(group="else/where")}},
         "spec.template.metadata.annotations[scheduling.k8s.io/group-name]: 'else/where' would be in another"),
    Case("a cron job in no queue", "CronJob",
         {"spec": {"jobTemplate": {"spec": {"template": pod(annotations={QUEUE_NAME: "nowhere"})}}}},
         f"spec.jobTemplate.spec.template.metadata.annotations[{QUEUE_NAME}]: queue 'nowhere' does not exist"),
    Case("a deployment without pods", "Deployment", {"spec": {}}),
]  # fmt: skip


@pytest.mark.parametrize("case", SENSE, ids=str)
def test_what_makes_no_sense_is_refused_with_field_and_remedy(case: Case) -> None:
    asked = request(case.kind, case.document)
    name = asked.name if case.kind in WIDE else f"team/{asked.name}"
    message = told(asked)
    if not case.refusal:
        assert message == ""
    else:
        assert message.startswith(f"{case.kind} {name}: {case.refusal}"), message


NEEDED = "is needed by everybody; close it if it shall take no work"
DELETIONS = {
    "root": f"queue 'root' {NEEDED}",
    "default": f"queue 'default' {NEEDED}",
    "science": "queues lie below it: physics; delete them first, or give them another parent",
    "physics": "",
    "shut": "",
}


@pytest.mark.parametrize("name", DELETIONS)
def test_queues_that_others_need_stay(name: str) -> None:
    message = told(request("Queue", queue(name=name), operation="DELETE"))
    assert message == (f"Queue {name}: metadata.name: {DELETIONS[name]}" if DELETIONS[name] else "")


def test_a_native_group_is_held_to_the_same() -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    annotated = {"metadata": {"annotations": {QUEUE_NAME: "nowhere"}}, "spec": spec}
    native = "scheduling.k8s.io"
    assert told(request("PodGroup", {"spec": spec}, group=native)) == ""
    assert "queue 'nowhere' does not exist" in told(request("PodGroup", annotated, group=native))
    assert "spec.schedulingPolicy: must be either gang or basic" in told(request("PodGroup", {}, group=native))


def test_a_job_of_volcano_is_held_to_its_queue() -> None:
    document = {
        "spec": {"schedulerName": "volcano", "queue": "shut", "tasks": [{"template": pod(scheduler="volcano")}]}
    }
    asked = request("Job", document, group="batch.volcano.sh")
    assert told(asked).startswith("Job team/story: spec.queue: queue 'shut' is Closed")


WARNINGS = [
    (group(priorityClassName="lost"), ("spec.priorityClassName: priority class 'lost' does not exist yet; the default "
     "priority holds",)),
    (group(minMember=1, minTaskMember={"a": 1, "b": 1}), ("spec.minTaskMember: the minimums of roles add up to 2; they "
     "hold only when spec.minMember is as large",)),
    (group(priorityClassName="system-node-critical"), ()),
]  # fmt: skip


@pytest.mark.parametrize(("document", "warnings"), WARNINGS)
def test_what_is_only_odd_is_said(document: Document, warnings: tuple[str, ...]) -> None:
    verdict = review(request("PodGroup", document), FACTS, TERMS)
    assert verdict.is_allowed
    assert verdict.warnings == warnings


# -- tenants ----------------------------------------------------------------------------------------------------------


class Use(NamedTuple):
    story: str
    kind: str
    document: Document
    #: The queues that the tenant must be allowed to use.
    uses: set[str]
    user: User = ALICE
    namespace: str = "team"

    def __str__(self) -> str:
        return self.story


TEMPLATE = {"spec": {"template": pod(annotations={QUEUE_NAME: "science"})}}

USES = [
    Use("a group", "PodGroup", group(queue="science"), {"science"}),
    Use("a group by annotation", "PodGroup",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"queue": "default"}}, {"science"}),
    Use("a queue for everybody", "PodGroup", group(), set()),
    Use("somebody who is trusted", "PodGroup", group(queue="science"), set(), ADMINISTRATOR),
    Use("a controller", "Pod", pod(owner=("batch/v1", "Job"), annotations={QUEUE_NAME: "science"}), set(), CONTROLLER),
    Use("a plain pod", "Pod", pod(annotations={QUEUE_NAME: "science"}), {"science"}),
    Use("a plain pod of a namespace with a queue", "Pod", pod(), {"science"}, namespace="lab"),
    Use("a plain pod that says nothing", "Pod", pod(), set()),
    Use("a member", "Pod", pod(group="gang"), {"science"}),
    Use("a pod of an owner that nobody asks", "Pod", pod(owner=("example.com/v1", "Workload")), set()),
    Use("a pod of others", "Pod", pod(scheduler="other", annotations={QUEUE_NAME: "science"}), set()),
    Use("a pod that is meant for us", "Pod", pod(scheduler="default-scheduler", group="gang"), {"science"}),
    Use("a job", "Job", TEMPLATE, {"science"}),
    Use("a job of a namespace with a queue", "Job", {"spec": {"template": pod()}}, {"science"}, namespace="lab"),
    Use("a job of others", "Job",
        {"spec": {"template": pod(scheduler="other", annotations={QUEUE_NAME: "science"})}}, set()),
    Use("a job of a group", "Job", {"spec": {"template": pod(group="gang")}}, {"science"}),
    Use("a deployment that names the queue itself", "Deployment",
        {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod()}}, {"science"}),
    Use("a cron job", "CronJob", {"spec": {"jobTemplate": TEMPLATE}}, {"science"}),
]  # fmt: skip


@pytest.mark.parametrize("case", USES, ids=str)
def test_tenants_need_the_queue_that_they_use(case: Use) -> None:
    asked = request(case.kind, case.document, user=case.user, namespace=case.namespace)
    verdict = review(asked, FACTS, TERMS)
    assert verdict.is_allowed, verdict.message
    assert used(asked) == case.uses
    assert not used(asked, AdmissionPolicy(without=frozenset((AUTHORISATION,))))


def test_nobody_but_controllers_makes_pods_for_an_owner() -> None:
    document = pod(owner=("batch/v1", "Job"))
    words = "metadata.ownerReferences: pods of Job 'owner' are made by its controller; leave the owner out"
    assert words in told(request("Pod", document, user=ALICE))
    assert words in told(request("Pod", document, before=pod(), user=ALICE))
    assert told(request("Pod", document, user=CONTROLLER)) == ""


class Priority(NamedTuple):
    kind: str
    document: Document
    refusal: str
    user: User = ALICE


LISTED = "is not for queue 'science'; use one of low, lower"
PRIORITY = {
    "one of the queue's": Priority("PodGroup", group(queue="science", priorityClassName="low"), ""),
    "another": Priority("PodGroup", group(queue="science", priorityClassName="high"),
                        f"spec.priorityClassName: priority class 'high' {LISTED}"),
    "the default one": Priority("Pod", pod(group="gang", priorityClassName="usual"), ""),
    "none": Priority("PodGroup", group(queue="science"), ""),
    "in a queue that lists none": Priority("PodGroup", group(priorityClassName="high"), ""),
    "of a member": Priority("Pod", pod(group="gang", priorityClassName="high"),
                            f"spec.priorityClassName: priority class 'high' {LISTED}"),
    "of pods to be made": Priority(
        "Job", {"spec": {"template": pod(annotations={QUEUE_NAME: "science"}, priorityClassName="high")}},
        f"spec.template.spec.priorityClassName: priority class 'high' {LISTED}"),
    "of an administrator": Priority("PodGroup", group(queue="science", priorityClassName="high"), "", ADMINISTRATOR),
}  # fmt: skip


@pytest.mark.parametrize("story", PRIORITY)
def test_a_queue_says_which_priorities_it_takes(story: str) -> None:
    case = PRIORITY[story]
    asked = request(case.kind, case.document, user=case.user)
    assert told(asked).partition("story: ")[2] == case.refusal
    assert told(asked, AdmissionPolicy(without=frozenset((PRIORITIES,)))) == ""


# -- what stays as it was ---------------------------------------------------------------------------------------------


class Change(NamedTuple):
    kind: str
    before: Document
    after: Document
    #: The field that cannot be changed; empty if it can.
    frozen: str = ""


def marked(document: Document, part: str = "annotations", **entries: str) -> Document:
    return {**document, "metadata": {**document.get("metadata", {}), part: entries}}


CHANGES = {
    "the queue": Change("PodGroup", group(), group(queue="physics"), "spec.queue"),
    "the queue by annotation": Change("PodGroup", group(), marked(group(), **{QUEUE_NAME: "physics"}), "spec.queue"),
    "the minimum": Change("PodGroup", group(), group(minMember=2), "spec.minMember"),
    "roles": Change("PodGroup", group(), group(minTaskMember={"a": 1}), "spec.minTaskMember"),
    "the network": Change("PodGroup", group(), group(networkTopology={"mode": "soft"}), "spec.networkTopology"),
    "sub-groups": Change("PodGroup", group(), group(subGroupPolicy=[{"name": "a"}]), "spec.subGroupPolicy"),
    "who may push it aside": Change("PodGroup", group(), marked(group(), "labels", **{PREEMPTABLE: "false"}),
                                    f"metadata.annotations[{PREEMPTABLE}]"),
    "the status": Change("PodGroup", group(), {**group(), "status": {"phase": "Running"}}),
    "other annotations": Change("PodGroup", group(), marked(group(), note="x")),
    "the group of a pod": Change("Pod", pod(group="gang"), pod(group="other"),
                                 "metadata.annotations[scheduling.k8s.io/group-name]"),
    "a pod that gets a group": Change("Pod", pod(), pod(group="gang")),
    "the queue of a pod": Change("Pod", pod(), pod(labels={QUEUE_NAME: "physics"}), f"metadata.labels[{QUEUE_NAME}]"),
    "who may push a pod aside": Change("Pod", pod(), pod(annotations={PREEMPTABLE: "false"}),
                                       f"metadata.annotations[{PREEMPTABLE}]"),
}  # fmt: skip


@pytest.mark.parametrize("story", CHANGES)
def test_what_decides_about_the_place_in_line_stays(story: str) -> None:
    case = CHANGES[story]
    asked = request(case.kind, case.after, before=case.before, user=ALICE)
    verdict = review(asked, FACTS, TERMS)
    frozen = [fault.words for fault in verdict.faults if "cannot be changed" in fault.words]
    assert [words.partition(": ")[0] for words in frozen] == ([case.frozen] if case.frozen else [])
    assert verdict.is_forbidden is bool(case.frozen)
    assert told(asked, AdmissionPolicy(without=frozenset((FROZEN_FIELDS,)))) == ""
    assert told(request(case.kind, case.after, before=case.before, user=CONTROLLER)) == ""


def test_a_pod_that_gets_a_group_needs_its_queue() -> None:
    asked = request("Pod", pod(group="gang"), before=pod(), user=ALICE)
    assert used(asked) == {"science"}


def test_a_job_that_stays_in_its_queue_is_not_asked_again() -> None:
    scaled = {"spec": {**TEMPLATE["spec"], "parallelism": 4}}
    assert not used(request("Job", scaled, before=TEMPLATE, user=ALICE))
    moved = {"spec": {"template": pod(annotations={QUEUE_NAME: "physics"})}}
    assert used(request("Job", moved, before=TEMPLATE, user=ALICE)) == {"physics"}


OLD_FAULTS = [
    ("PodGroup", group(minMember=-1), marked(group(minMember=-1), note="x")),
    ("Queue", queue(parent="nobody"), queue({"note": "x"}, parent="nobody")),
    ("HyperNode", hyper_node(tier=-1), marked(hyper_node(tier=-1), note="x")),
    ("Pod", pod(group="else/where"), pod(group="else/where", annotations={"note": "x"})),
    ("Job", {"spec": {"template": pod(cpu="-1")}}, {"spec": {"template": pod(cpu="-1"), "parallelism": 2}}),
]


@pytest.mark.parametrize(("kind", "before", "after"), OLD_FAULTS, ids=[each[0] for each in OLD_FAULTS])
def test_what_was_wrong_before_holds_nobody_up(kind: str, before: Document, after: Document) -> None:
    assert told(request(kind, after)) != ""
    assert told(request(kind, after, before=before)) == ""


def test_who_is_on_the_way_out_is_let_go() -> None:
    going = {**group(minMember=7), "metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}
    assert told(request("PodGroup", going, before=group(), user=ALICE)) == ""


def test_other_kinds_and_parts_are_none_of_our_business() -> None:
    assert told(request("PodGroup", group(minMember=-1), group="example.com")) == ""
    part = request("PodGroup", group(minMember=-1))
    part.sub_resource = "status"
    assert told(part) == ""


def test_a_queue_that_was_read_again_is_what_counts() -> None:
    asked = request("PodGroup", group(queue="shut"))
    assert review(asked, FACTS, TERMS).queues_in_doubt == {"shut"}
    opened = FACTS.queues["default"]
    assert review(asked, FACTS.with_queues({"shut": opened}), TERMS).is_allowed
    assert "does not exist" in review(asked, FACTS.with_queues({"shut": None}), TERMS).message
    assert FACTS.queues["shut"].status.state == "Closed"


FIELDS: dict[str, tuple[str, Document, str]] = {
    "a group": ("PodGroup", group(queue="science"), "spec.queue"),
    "a member": ("Pod", pod(group="gang"), "metadata.annotations[scheduling.k8s.io/group-name]"),
    "a plain pod": ("Pod", pod(labels={QUEUE_NAME: "science"}), f"metadata.labels[{QUEUE_NAME}]"),
    "a plain pod in its namespace": ("Pod", pod(), "metadata.namespace"),
    "a job": ("Job", TEMPLATE, f"spec.template.metadata.annotations[{QUEUE_NAME}]"),
    "a cron job whose jobs say it": (
        "CronJob",
        {"spec": {"jobTemplate": {"metadata": {"annotations": {QUEUE_NAME: "science"}}, "spec": {"template": pod()}}}},
        "spec.jobTemplate.metadata.annotations",
    ),
}


@pytest.mark.parametrize("story", FIELDS)
def test_it_is_known_where_the_queue_is_named(story: str) -> None:
    kind, document, field = FIELDS[story]
    namespace = "lab" if field == "metadata.namespace" else "team"
    (use,) = review(request(kind, document, user=ALICE, namespace=namespace), FACTS, TERMS).uses
    assert (use.queue, use.field) == ("science", field)


def test_a_tree_has_an_end() -> None:
    names = [f"level-{number}" for number in range(70)]
    chain = {name: world_queue(name, parent=parent) for name, parent in zip(names[1:], names, strict=False)}
    facts = FACTS.with_queues({names[0]: world_queue(names[0], parent="root"), **chain})
    assert review(request("Queue", queue(parent="level-40")), facts, TERMS).is_allowed
    message = review(request("Queue", queue(parent="level-69")), facts, TERMS).message
    assert message == (
        "Queue story: spec.parent: the queue would lie more than 64 levels deep; name one nearer to the root"
    )


def test_the_default_queue_can_have_another_name() -> None:
    terms = replace(TERMS, default_queue="science")
    asked = request("PodGroup", {"spec": {}}, user=ALICE)
    assert used(asked, terms) == {"science"}
