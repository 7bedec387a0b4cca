"""Pods share GPUs by annotation: GPUs are filled but never overcommitted, and whole GPUs stay free for others."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from stromboli.core.config.plugin import PluginFailure
from tests.testing.cases.case import Case
from tests.testing.manifests.builders import Manifest, gang, gang_of, pod, priority_class, queue, running
from tests.testing.manifests.fractional_gpus import (
    SHARING,
    gpu_groups_of,
    gpus,
    member,
    memory,
    part,
    reservation,
    sharing,
)
from tests.testing.manifests.shared_devices import bind_annotations_of

TAKEN = "node(s) didn't have enough free GPUs"
SHARED = "node(s) had only fractions of shared GPUs left"
SILENT = "node(s) did not report their GPU memory"
HALF = part("0.5")
SPREAD = sharing(SchedulePolicy="gpuspread", ScheduleWeight=0)
CAPACITY = sharing("capacity")


def old(*members: Manifest, **facts: Any) -> list[Manifest]:
    return gang_of(*members, name="old", minimum=0, phase="Running", **facts)


FRACTIONS = [
    Case("a fraction of a GPU", gpus("a", 1), gang(1, annotations=HALF), conf=SHARING, binds="a"),
    Case("two halves fill a GPU", gpus("a", 1), gang(3, annotations=HALF, minimum=1), conf=SHARING, binds="aa-"),
    Case("as many as the GPUs hold", gpus("a", 2), gang(5, annotations=HALF, minimum=1), conf=SHARING, binds="aaaa-"),
    Case("a gang that does not fit gets nothing", gpus("a", 1), gang(3, annotations=HALF), conf=SHARING, binds="---"),
    Case(
        "no pod gets two fractions of different GPUs", gpus("a", 2), gang(2, annotations=part("0.6")),
        gang(1, name="more", annotations=part("0.6")), conf=SHARING, binds="aa -",
        reasons={"more": [f"0/1 nodes are available: 1 {TAKEN}."]}, codes={"more": ["DevicesInUse"]},
    ),
    Case("the smaller one fits beside", gpus("a", 2), gang(2, annotations=part("0.6")),
         gang(2, name="more", annotations=part("0.4")), conf=SHARING, binds="aa aa"),
    Case("thirds", gpus("a", 1), gang(4, annotations=part("0.333"), minimum=1), conf=SHARING, binds="aaa-"),
    Case("what is finer than a thousandth is rounded", gpus("a", 1), gang(4, annotations=part("0.33333"), minimum=1),
         conf=SHARING, binds="aaa-"),
    Case("all of a GPU by annotation", gpus("a", 1), gang(2, annotations=part("1"), minimum=1), conf=SHARING,
         binds="a-"),
    Case("a node without GPUs", gpus("a", 0), gang(1, annotations=HALF), conf=SHARING, binds="-",
         reasons={"gang": ["0/1 nodes are available: 1 Insufficient nvidia.com/gpu."]}),
    Case("without the plugin an annotation is a note", gpus("a", 1), gang(3, annotations=HALF), binds="aaa"),
    Case("pods without a GPU are placed anywhere", gpus("a", 0), gang(1), conf=SHARING, binds="a"),
    Case("a gang over several nodes", gpus("a", 1), gpus("b", 1), gang(4, annotations=HALF), conf=SHARING,
         binds="aabb"),
    Case("the reservation pod of the GPU needs a place, too", gpus("a", 2, pods=3), gang(3, annotations=HALF,
         minimum=1), conf=SHARING, binds="aa-"),
]  # fmt: skip

MEMORY = [
    Case("a fraction by memory", gpus("a", 1, 16384), gang(1, annotations=memory(8000)), conf=SHARING, binds="a"),
    Case("memory is counted to the MiB", gpus("a", 1, 16384), gang(4, annotations=memory(5433), minimum=1),
         conf=SHARING, binds="aaa-"),
    Case("what is below a hundred is not to be had", gpus("a", 1, 16384), gang(1, annotations=memory(16301)),
         conf=SHARING, binds="-", reasons={"gang": ["0/1 nodes are available: 1 node(s) had no GPUs with so much "
         "memory."]}),
    Case("a label in bytes", gpus("a", 1, 17179869184), gang(3, annotations=memory(8000), minimum=1), conf=SHARING,
         binds="aa-"),
    Case(
        "a node without GPU memory", gpus("a", 1), gang(1, annotations=memory(8000)), conf=SHARING, binds="-",
        reasons={"gang": [f"0/1 nodes are available: 1 {SILENT}."]}, codes={"gang": ["NoDevices"]},
    ),
    Case(
        "a node with invalid GPU memory", gpus("a", 1, "lots"), gang(1, annotations=memory(8000)), conf=SHARING,
        binds="-",
        warnings=["Node a: label nvidia.com/gpu.memory: expected the memory of a GPU in MiB, such as 40960, got "
                  "'lots'; its GPUs are not shared by memory"],
    ),
    Case("fractions and memory on one GPU", gpus("a", 1, 16000), gang(1, annotations=HALF),
         gang(2, name="more", annotations=memory(8000), minimum=1), conf=SHARING, binds="a a-"),
    Case("a large GPU takes more of them", gpus("a", 1, 8000), gpus("b", 1, 32000),
         gang(6, annotations=memory(8000), minimum=1), conf=SHARING, binds="abbbb-"),
]  # fmt: skip

SEVERAL = [
    Case("a fraction of each of two GPUs", gpus("a", 2), gang(2, annotations=part("0.5", 2)), conf=SHARING, binds="aa"),
    Case("two GPUs are two different ones", gpus("a", 1), gang(1, annotations=part("0.5", 2)), conf=SHARING, binds="-"),
    Case("two GPUs of one node", gpus("a", 1), gpus("b", 2), gang(1, annotations=part("0.5", 2)), conf=SHARING,
         binds="b"),
    Case("memory of each of two", gpus("a", 2, 16000), gang(3, annotations=memory(8000, 2), minimum=1), conf=SHARING,
         binds="aa-"),
    Case("beside pods with one", gpus("a", 2), gang(1, annotations=HALF), gang(1, name="next", annotations=part("0.5",
         2)), gang(1, name="then", annotations=HALF), conf=SHARING, binds="a a a"),
]  # fmt: skip

WHOLE = [
    Case("whole GPUs beside shared ones", gpus("a", 2), gang(1, annotations=part("0.2")),
         gang(2, name="whole", gpu=1, minimum=1), conf=SHARING, binds="a a-",
         reasons={"whole": ["0/1 nodes are available: 1 Insufficient nvidia.com/gpu."]}),
    Case("spread fractions use up whole GPUs", gpus("a", 2), old(member("a", "x", part("0.2")), member("a", "y",
         part("0.2"))), gang(1, gpu=1), conf=SHARING, binds="-",
         reasons={"gang": [f"0/1 nodes are available: 1 {SHARED}."]}, codes={"gang": ["DevicesInUse"]}),
    Case("a whole gang at once", gpus("a", 4), gpus("b", 4), old(member("a", "x", part("0.2"))),
         gang(7, gpu=1), conf=SHARING, binds="aaabbbb"),
    Case("where whole ones took all, nothing is shared", gpus("a", 1), gang(1, gpu=1), gang(1, name="part",
         annotations=HALF), conf=SHARING, binds="a -"),
    Case("the pod that holds a GPU is not counted twice", gpus("a", 2), old(member("a", "x")), reservation("a", "x"),
         gang(1, annotations=HALF), gang(1, name="whole", gpu=1), conf=SHARING, binds="a a"),
    Case("a GPU that is reserved without a pod is not available as a whole", gpus("a", 1), reservation("a", "x"),
         gang(1, gpu=1), conf=SHARING, binds="-"),
    Case("but can be shared", gpus("a", 1), reservation("a", "x"), gang(3, annotations=HALF, minimum=1), conf=SHARING,
         binds="aa-"),
    Case("without the plugin it counts with its request", gpus("a", 1), reservation("a", "x"), gang(1, gpu=1),
         binds="-"),
    Case("in another namespace it counts with its request, too", gpus("a", 1),
         pod(1, gpu=1, name="sly", nodeName="a", annotations={"stromboli.dev/gpu-groups": "x"}),
         gang(1, annotations=HALF), conf=SHARING, binds="-"),
    Case("fractions of other schedulers count by their reservation pod", gpus("a", 2),
         pod(1, name="theirs", nodeName="a", annotations=HALF, schedulerName="kai-scheduler"),
         pod(0, gpu=1, name="gpu-reservation-a-x", namespace="kai-resource-reservation", nodeName="a"),
         gang(3, annotations=HALF, minimum=1), conf=SHARING, binds="aa-"),
]  # fmt: skip

WHAT_RUNS = [
    Case("what runs is counted", gpus("a", 1), old(member("a", "x")), gang(2, annotations=HALF, minimum=1),
         conf=SHARING, binds="a-"),
    Case("what has ended is not", gpus("a", 1), old(member("a", "x", phase="Succeeded")), gang(2, annotations=HALF),
         conf=SHARING, binds="aa"),
    Case("a pod that lost its amount holds the whole GPU", gpus("a", 1), old(member("a", "x", {"gpu-fraction":
         "all"})), gang(1, annotations=part("0.1")), conf=SHARING, binds="-", warnings=[
         "Pod default/old-task-0: metadata.annotations[gpu-fraction]: expected a fraction of a GPU above 0 and below "
         "1, "
         "such as 0.5, got 'all'"]),
    Case("the next cycle sees what this one assigned", gpus("a", 1), gang(2, annotations=HALF), gang(1, name="late",
         annotations=HALF), conf=SHARING, cycles=2, binds="aa -"),
]  # fmt: skip

BAD = [
    ("nothing at all", part("0"), "gpu-fraction",
     "expected a fraction of a GPU above 0 and below 1, such as 0.5, got '0'"),
    ("more than a GPU", part("1.5"), "gpu-fraction",
     "expected a fraction of a GPU above 0 and below 1, such as 0.5, got '1.5'"),
    ("no number", part("half"), "gpu-fraction",
     "expected a fraction of a GPU above 0 and below 1, such as 0.5, got 'half'"),
    ("not a number", part("nan"), "gpu-fraction",
     "expected a fraction of a GPU above 0 and below 1, such as 0.5, got 'nan'"),
    ("both", {**part("0.5"), **memory(100)}, "gpu-fraction", "gpu-memory is set as well; set only one of them"),
    ("no memory", memory(0), "gpu-memory", "expected a whole number of MiB from 1 to 1073741824, got '0'"),
    ("memory with a unit", memory("8Gi"), "gpu-memory",
     "expected a whole number of MiB from 1 to 1073741824, got '8Gi'"),
    ("devices of nothing", {"gpu-fraction-num-devices": "2"}, "gpu-fraction-num-devices",
     "a device count without a fraction; add gpu-fraction or gpu-memory"),
    ("no devices", {**part("0.5"), "gpu-fraction-num-devices": "0"}, "gpu-fraction-num-devices",
     "expected a whole number from 1 to 1024, got '0'"),
    ("a container that is not there", {**part("0.5"), "gpu-fraction-container-name": "ghost"},
     "gpu-fraction-container-name", "the pod has no container 'ghost'"),
]  # fmt: skip

QUEUES = [
    Case("a queue has so much of a GPU", gpus("a", 4), queue("q", capability={"nvidia.com/gpu": "1"}),
         gang(3, annotations=HALF, queue="q", minimum=1), conf=CAPACITY, binds="aa-"),
    Case("several devices count as often", gpus("a", 4), queue("q", capability={"nvidia.com/gpu": "1"}),
         gang(2, annotations=part("0.5", 2), queue="q", minimum=1), conf=CAPACITY, binds="a-"),
    Case("memory counts as a fraction", gpus("a", 4, 16000), queue("q", capability={"nvidia.com/gpu": "1"}),
         gang(5, annotations=memory(4000), queue="q", minimum=1), conf=CAPACITY, binds="aaaa-"),
]  # fmt: skip

PREEMPTION = sharing("priority", actions="enqueue, allocate, preempt")
RECLAIM = sharing("capacity", actions="enqueue, allocate, reclaim")
CLASSES = [priority_class("high", 100), priority_class("low", 1)]


def low(*members: Manifest) -> list[Manifest]:
    return old(*members, priority="low")


VICTIMS = [
    Case("a fraction is evicted for a fraction", gpus("a", 1), CLASSES, low(member("a", "x"), member("a", "x")),
         reservation("a", "x"), gang(1, annotations=part("0.4"), priority="high"), conf=PREEMPTION, binds="A",
         evicts=["old-task-1"]),
    Case("fractions are evicted for a whole GPU", gpus("a", 1), CLASSES, low(member("a", "x"), member("a", "x")),
         reservation("a", "x"), gang(1, gpu=1, priority="high"), conf=PREEMPTION, binds="A",
         evicts=["old-task-0", "old-task-1"]),
    Case("a whole GPU is evicted for a fraction", gpus("a", 1), CLASSES, running("a", gpu=1, priority="low"),
         gang(1, annotations=HALF, priority="high"), conf=PREEMPTION, binds="A", evicts=["old-task-0"]),
    Case("nothing is evicted for fractions that would not suffice", gpus("a", 2), CLASSES,
         low(member("a", "x", part("0.3")), member("a", "y", part("0.3"))), gang(1, annotations=part("0.5"),
         priority="high"), conf=PREEMPTION, binds="a"),
    Case("a queue reclaims its fraction", gpus("a", 1), queue("p", capability={"nvidia.com/gpu": "1"}),
         queue("q", guarantee={"nvidia.com/gpu": "500m"}),
         old(member("a", "x"), member("a", "x"), queue="p"), gang(1, annotations=HALF, queue="q"), conf=RECLAIM,
         binds="A", evicts=["old-task-1"]),
]  # fmt: skip

CONSOLIDATION = sharing("conformance", actions="enqueue, allocate, consolidate")
WANTS_ONE = gang(1, gpu=1, name="large")
APART = [gpus("a", 2), old(member("a", "x"), member("a", "y")), reservation("a", "x"), reservation("a", "y")]


def three(*fractions: str) -> list[Manifest]:
    """A node of three GPUs, each with a pod that holds this fraction."""
    held = [member("a", group, part(fraction)) for group, fraction in zip("xyz", fractions, strict=True)]
    return [gpus("a", 3), *old(*held), *(reservation("a", group) for group in "xyz")]


MOVES = [
    Case("a fraction moves to another GPU of its node", APART, WANTS_ONE, conf=CONSOLIDATION, binds="A",
         evicts=["old-task-1"]),
    Case("not where two fractions exceed a GPU", gpus("a", 2),
         old(member("a", "x", part("0.6")), member("a", "y", part("0.6"))), WANTS_ONE, conf=CONSOLIDATION, binds="-"),
    Case("not while a GPU is idle", gpus("a", 3), old(member("a", "x"), member("a", "y")), WANTS_ONE,
         conf=CONSOLIDATION, binds="a"),
    Case("several move for several GPUs", gpus("a", 4), old(*(member("a", group) for group in "wxyz")),
         gang(1, gpu=2, name="large"), conf=CONSOLIDATION, binds="A", evicts=["old-task-2", "old-task-3"]),
    Case("one that fits beside another", three("0.5", "0.4", "0.7"), WANTS_ONE, conf=CONSOLIDATION, binds="A",
         evicts=["old-task-1"]),
    Case("for a larger fraction", APART, gang(1, annotations=part("0.6"), name="large"), conf=CONSOLIDATION, binds="A",
         evicts=["old-task-1"]),
    Case("a gang moves whole", gpus("a", 2), gang_of(member("a", "x"), member("a", "y"), name="old", phase="Running"),
         WANTS_ONE, conf=CONSOLIDATION, binds="A", evicts=["old-task-0", "old-task-1"]),
    Case("the large pod starts in the next cycle", APART[:2], WANTS_ONE, conf=CONSOLIDATION, cycles=2, binds="a",
         evicts=["old-task-1"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "case", [*FRACTIONS, *MEMORY, *SEVERAL, *WHOLE, *WHAT_RUNS, *QUEUES, *VICTIMS, *MOVES], ids=str
)
def test_shared_gpus(case: Case) -> None:
    case.check()


def test_eviction_names_another_device_of_the_node() -> None:
    [message] = Case("", APART, WANTS_ONE, conf=CONSOLIDATION, binds="").plan().evictions.values()
    assert "node a has capacity for it on another device" in message


@pytest.mark.parametrize(("annotations", "key", "complaint"), [entry[1:] for entry in BAD], ids=[e[0] for e in BAD])
def test_invalid_annotations(annotations: dict[str, str], key: str, complaint: str) -> None:
    reported = f"Pod default/gang-task-0: metadata.annotations[{key}]: {complaint}"
    Case("bad", gpus("a", 8), gang(1, annotations=annotations), conf=SHARING, binds="-", reasons={"gang": [reported]},
         warnings=[reported]).check()  # fmt: skip


def test_whole_and_fractional_gpu() -> None:
    reported = (
        "Pod default/gang-task-0: metadata.annotations[gpu-fraction]: spec.containers[0] requests nvidia.com/gpu as "
        "well; "
        "remove one of them"
    )
    Case("both", gpus("a", 8), gang(1, gpu=1, annotations=HALF), conf=SHARING, binds="-", warnings=[reported]).check()


CHOICES = [
    ("a GPU is filled before the next is begun", SHARING, [gpus("a", 2), gang(3, annotations=part("0.4"))],
     {"gang-task-0": "pod-default-gang-task-0-0", "gang-task-1": "pod-default-gang-task-0-0",
      "gang-task-2": "pod-default-gang-task-2-0"}),
    ("GPUs are saved", SPREAD, [gpus("a", 2), gang(3, annotations=part("0.4"))],
     {"gang-task-0": "pod-default-gang-task-0-0", "gang-task-1": "pod-default-gang-task-1-0",
      "gang-task-2": "pod-default-gang-task-0-0"}),
    ("the fuller one of two", SHARING, [gpus("a", 2), old(member("a", "x", part("0.2")), member("a", "y")),
     gang(1, annotations=part("0.3"))], {"gang-task-0": "y"}),
    ("the emptier one of two", SPREAD, [gpus("a", 2), old(member("a", "x", part("0.2")), member("a", "y")),
     gang(1, annotations=part("0.3"))], {"gang-task-0": "x"}),
    ("the one with capacity", SHARING, [gpus("a", 2), old(member("a", "x", part("0.2")), member("a", "y")),
     gang(1, annotations=part("0.6"))], {"gang-task-0": "x"}),
    ("one that is shared and one that is not", SHARING, [gpus("a", 2), old(member("a", "x")),
     gang(1, annotations=part("0.5", 2))], {"gang-task-0": "x,pod-default-gang-task-0-0"}),
    ("two that are not", SHARING, [gpus("a", 2), gang(1, annotations=part("0.5", 2))],
     {"gang-task-0": "pod-default-gang-task-0-0,pod-default-gang-task-0-1"}),
    ("a name that is taken is not given again", SHARING,
     [gpus("a", 2), old(member("a", "pod-default-gang-task-0-0", part("0.9"))), gang(1, annotations=HALF)],
     {"gang-task-0": "pod-default-gang-task-0-1"}),
    ("a reserved GPU without a pod comes before an unreserved one", SHARING,
     [gpus("a", 2), reservation("a", "x"), gang(1, annotations=HALF)], {"gang-task-0": "x"}),
    ("not one whose holder is leaving", SHARING,
     [gpus("a", 2), reservation("a", "x", releasing=True), gang(1, annotations=HALF)],
     {"gang-task-0": "pod-default-gang-task-0-0"}),
    ("nodes where others share come first", SHARING, [gpus("a", 2), gpus("b", 2), old(member("b", "x")),
     gang(1, annotations=HALF)], {"gang-task-0": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("conf", "objects", "groups"), [entry[1:] for entry in CHOICES], ids=[e[0] for e in CHOICES])
def test_selected_gpus(conf: str, objects: list[object], groups: dict[str, str]) -> None:
    assert gpu_groups_of(Case("choice", *objects, conf=conf, binds="")) == groups


def test_bind_carries_annotations() -> None:
    case = Case("given", gpus("a", 1, 16384), gang(1, annotations=memory(5000)), conf=SHARING, binds="a")
    assert bind_annotations_of(case) == {
        "gang-task-0": {
            "stromboli.dev/gpu-groups": "pod-default-gang-task-0-0",
            "stromboli.dev/gpu-portion-milli": "310",
            "scheduling.stromboli.dev/received-resource-type": "Fraction",
        }
    }


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"gpusharing.SchedulePolicy": "best"}, "gpupack"),
        ({"gpusharing.ScheduleWeight": -1}, "ScheduleWeight"),
        ({"gpusharing.ReservationNamespace": "No Such"}, "expected the name of a namespace"),
    ],
)
def test_invalid_arguments_are_rejected(arguments: dict[str, Any], complaint: str) -> None:
    conf = sharing(**{key.partition(".")[2]: value for key, value in arguments.items()})
    with pytest.raises((ConfigurationError, PluginFailure), match=complaint):
        Case("bad", gpus("a", 1), conf=conf, binds="").check()
