"""Pods are placed where they leave GPUs that the other pods of the workload can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, pod
from tests.testing.manifests.fractional_gpus import gpus, member, part


def conf(**arguments: object) -> str:
    values = {f"fragmentation.{key}": value for key, value in arguments.items()}
    return configuration(
        "gang", "predicates", plugin("gpusharing", {"gpusharing.ScheduleWeight": 0}), plugin("fragmentation", values)
    )


def shapes(*declared: Mapping[str, Any]) -> str:
    """Only the growth of fragmentation counts."""
    return conf(shapes=list(declared), scarcity=0, balance=0, bestFit=0)


def old(*members: Manifest) -> list[Manifest]:
    return gang_of(*members, name="old", minimum=0, phase="Running")


def gpu_node(name: str, cpu: int, gpu: int, **labels: str) -> Manifest:
    return node(name, cpu, gpu=gpu, labels={"node": name, **labels})


def demanding(model: str) -> list[Manifest]:
    """A job that waits for more GPUs of a model than there are."""
    waiting = [pod(0, gpu=64, name=f"waits-{index}", nodeSelector={"model": model}) for index in range(8)]
    return gang_of(*waiting, name="waiting", minimum=8)


FOUR = {"gpus": "4"}
CASES = [
    Case("a whole GPU comes from the node that is not needed whole", gpu_node("a", 64, 4), gpu_node("b", 64, 3),
         gang(1, gpu=1), conf=shapes(FOUR), binds="b"),
    Case("unless other pods request single GPUs only", gpu_node("a", 64, 4), gpu_node("b", 64, 3), gang(1, gpu=1),
         conf=shapes({"gpus": "1"}), binds="a"),
    Case("a fraction joins the GPU where nothing else fits", gpus("a", 1), gpus("b", 1),
         old(member("b", "g", part("0.6"))), gang(1, annotations=part("0.4")), conf=shapes({"gpus": "0.6"}), binds="b"),
    Case("cpu without which the GPUs are useless is left alone", gpu_node("a", 8, 4), gpu_node("b", 64, 4), gang(1, 4),
         conf=shapes({"gpus": "1", "cpu": "6"}), binds="b"),
    Case("pods of the cluster are the workload by default", gpu_node("a", 64, 4), gpu_node("b", 64, 3),
         gang(1, gpu=4, name="later"), gang(1, gpu=1, name="first", annotations={}),
         conf=conf(scarcity=0, balance=0, bestFit=0), binds="a b"),
    Case("GPUs that few nodes have and many pods need are expensive", gpu_node("a", 64, 4, model="rare"),
         gpu_node("b", 64, 4, model="common"), demanding("rare"), gang(1, gpu=1), conf=conf(), binds="-------- b"),
    Case("of similar nodes the one with the least left is filled", gpu_node("a", 64, 4), gpu_node("b", 64, 4),
         old(pod(1, gpu=2, nodeName="b")), gang(1, gpu=1), conf=conf(shapes=[{"gpus": "1"}]), binds="b"),
    Case("a cluster without GPUs is not scored", node("a", 4), node("b", 4), gang(1), conf=conf(), binds="a"),
    Case("without pods that request GPUs nothing is scored", gpu_node("a", 4, 1), gang(1), conf=conf(), binds="a"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pod_is_placed_where_usable_gpus_remain(case: Case) -> None:
    case.check()


def test_part_of_more_than_all_pods_is_rejected() -> None:
    with pytest.raises(Exception, match=r"fragmentation\.popularity: expected at most 100 percent, got 120"):
        Case("", gpu_node("a", 4, 1), gang(1), conf=conf(popularity=120), binds="").plan()
