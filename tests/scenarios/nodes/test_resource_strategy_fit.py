"""Some resources are packed, others spread, and scarce resources are kept for the pods that need them."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import GPU, foreign, gang, node, nodes, priority_class, running

SCORING_TYPE = "volcano.sh/resource-strategy-scoring-type"
WEIGHTS = "volcano.sh/resource-strategy-weight"


def fitted(**arguments: Any) -> str:
    return configuration("gang", "predicates", plugin("resource-strategy-fit", arguments))


def strategy(kind: str = "LeastAllocated", weight: int = 1) -> dict[str, object]:
    return {"type": kind, "weight": weight}


MOST = "MostAllocated"
PACKED = fitted(resources={"cpu": strategy(MOST)})
#: Node a is the fuller one in cpu, node b in memory.
UNEVEN = [*nodes(8, 2, memory="8Gi"), foreign("a", 4), foreign("b", 0, "4Gi", name="other")]
GPUS_IN_USE = [*nodes(8, 2, gpu=8), foreign("b", 0, gpu=4)]

STRATEGIES = [
    Case("cpu and memory are spread by default", nodes(4, 2), foreign("a"), gang(1), conf=fitted(), binds="b"),
    Case("one here, one there", nodes(4, 2), gang(4), conf=fitted(), binds="abab"),
    Case("the fuller node where cpu is packed", nodes(4, 2), foreign("b"), gang(1), conf=PACKED, binds="b"),
    Case("node after node where cpu is packed", nodes(2, 2), gang(3), conf=PACKED, binds="aab"),
    Case(
        "configured resources replace cpu and memory", GPUS_IN_USE, foreign("a", 4, name="busy"), gang(1, gpu=1),
        conf=fitted(resources={GPU: strategy(MOST)}), binds="b",
    ),
    Case(
        "gpus packed and cpu spread: the heavier decides", GPUS_IN_USE, foreign("b", 4, name="busy"), gang(1, gpu=1),
        conf=fitted(resources={GPU: strategy(MOST, 2), "cpu": strategy()}), binds="b",
    ),
    Case(
        "and the other way round", GPUS_IN_USE, foreign("b", 4, name="busy"), gang(1, gpu=1),
        conf=fitted(resources={GPU: strategy(MOST), "cpu": strategy(weight=2)}), binds="a",
    ),
    Case(
        "a weight of 0 leaves a resource out", UNEVEN, gang(1, memory="1Gi"),
        conf=fitted(resources={"cpu": strategy(MOST, 0), "memory": strategy(MOST)}), binds="b",
    ),
    Case(
        "a prefix matches all resources that begin with it", GPUS_IN_USE, gang(1, gpu=1),
        conf=fitted(resources={"nvidia.com/*": strategy(MOST)}), binds="b",
    ),
    Case(
        "the longest beginning counts", GPUS_IN_USE, gang(1, gpu=1), binds="a",
        conf=fitted(resources={"*": strategy(MOST), "nvidia.com/*": strategy(MOST), "nvidia.com/g*": strategy()}),
    ),
    Case(
        "a whole name counts more than any beginning", GPUS_IN_USE, gang(1, gpu=1), binds="a",
        conf=fitted(resources={"nvidia.com/gp*": strategy(MOST), GPU: strategy()}),
    ),
    Case(
        "resources that a pod does not request do not matter", GPUS_IN_USE, gang(1),
        conf=fitted(resources={GPU: strategy(MOST)}), binds="a",
    ),
    Case(
        "a weight against other scorers", nodes(4, 2), foreign("b"), gang(1), binds="b",
        conf=configuration(
            "gang", "nodeorder", plugin("resource-strategy-fit", {"resources": {"cpu": strategy(MOST)}})
        ),
    ),
]  # fmt: skip


def with_constraint(kind: str | None = None, weights: str | None = None) -> dict[str, str]:
    preferences = {SCORING_TYPE: kind, WEIGHTS: weights}
    return {key: text for key, text in preferences.items() if text is not None}


PREFERENCES = [
    Case(
        "a pod may prefer packing", nodes(4, 2), foreign("b"), gang(1, annotations=with_constraint(MOST)),
        conf=fitted(),
        binds="b",
    ),
    Case(
        "a pod may prefer spreading", nodes(4, 2), foreign("a"),
        gang(1, annotations=with_constraint("LeastAllocated")),
        conf=PACKED, binds="b",
    ),
    Case(
        "a pod may set its own weights", UNEVEN,
        gang(1, memory="1Gi", annotations=with_constraint(weights='{"cpu": 3, "memory": 1}')), binds="b", conf=fitted(),
    ),
    Case(
        "what its weights do not name does not count", UNEVEN,
        gang(1, memory="1Gi", annotations=with_constraint(weights='{"memory": 1}')), binds="a", conf=fitted(),
    ),
    Case(
        "both together", UNEVEN,
        gang(1, memory="1Gi", annotations=with_constraint(MOST, '{"memory": 1}')), binds="b", conf=fitted(),
    ),
    Case(
        "it may name what the configuration does not", GPUS_IN_USE,
        gang(1, gpu=1, annotations=with_constraint(MOST, f'{{"{GPU}": 5}}')), binds="b", conf=fitted(),
    ),
    Case(
        "an unknown strategy is reported and ignored", nodes(4, 2), foreign("a"),
        gang(1, annotations=with_constraint("Sideways")), binds="b", conf=fitted(),
        warnings=[
            f"annotation {SCORING_TYPE}: write LeastAllocated or MostAllocated, not 'Sideways'; it is ignored",
        ],
    ),
    *(
        Case(
            f"invalid weights are reported and ignored: {text}", nodes(4, 2), foreign("a"),
            gang(1, annotations=with_constraint(weights=text)), conf=fitted(), binds="b",
            warnings=[
                f'annotation {WEIGHTS}: write weights like {{"cpu": 2, "memory": 1}}, not {text!r}; it is ignored',
            ],
        )
        for text in ("cpu=2", "[1]", '{"cpu": "2"}', '{"cpu": -1}', '{"cpu": true}', '{"cpu": 10001}', "")
    ),
]  # fmt: skip


def scarce(**entries: Any) -> str:
    return fitted(resourceStrategyFitWeight=0, sra={"enable": True, "resources": GPU, **entries})


A10 = "nvidia.com/a10"
MIXED = [node("a", more={GPU: 4, A10: 4}), node("b", gpu=4), node("c")]

SCARCITY = [
    Case("a pod without gpus avoids nodes with gpus", MIXED, gang(1), conf=scarce(), binds="c"),
    Case("it is a preference, not a filter", node("a", gpu=4), gang(1), conf=scarce(), binds="a"),
    Case("nothing is avoided unless it is switched on", MIXED, gang(1), binds="a",
         conf=fitted(resourceStrategyFitWeight=0, sra={"resources": GPU})),
    Case(
        "a pod with a gpu avoids the rarer ones", MIXED, gang(1, gpu=1), conf=scarce(resources=f"{GPU}, {A10}"),
        binds="b",
    ),
    Case(
        "the weightier resource is avoided first", node("a", more={A10: 4}), node("b", gpu=4), gang(1), binds="b",
        conf=scarce(resources=f"{GPU},{A10}", resourceWeight={A10: 5}),
    ),
    Case(
        "a scarce resource that no node has", MIXED[1:], gang(1), conf=scarce(resources=f"{GPU}, rdma/hca"), binds="c",
    ),
    Case("no weight, no preference", MIXED, gang(1), conf=scarce(weight=0), binds="a"),
    Case(
        "its weight against the fit", node("a", 64, gpu=4), node("b", 8), gang(1),
        conf=fitted(sra={"enable": True, "resources": GPU, "weight": 1}), binds="a",
    ),
    Case(
        "a larger one wins", node("a", 64, gpu=4), node("b", 8), gang(1),
        conf=fitted(sra={"enable": True, "resources": GPU, "weight": 10}), binds="b",
    ),
]  # fmt: skip


PROPORTIONAL = {"proportional": {"enable": True, "resources": GPU}}


def kept(**proportions: float) -> str:
    rates = {f"{GPU}.{name}": rate for name, rate in proportions.items()}
    return fitted(proportional={"enable": True, "resources": GPU, "resourceProportion": rates})


PROPORTIONS = [
    Case(
        "the cpu of idle gpus is kept", node("a", 74, "128G", gpu=8), gang(1, 8, name="first"),
        gang(1, 8, name="second"), conf=kept(cpu=8, memory=8), binds="a-",
        reasons={"second": ["0/1 nodes are available: 1 proportional of resource nvidia.com/gpu check failed."]},
        codes={"second": ["CapacityReservedForDevices"]},
    ),
    Case(
        "so is their memory", node("a", 74, "72G", gpu=8), gang(1, 1, memory="8G", name="first"),
        gang(1, 1, memory="1G", name="second"), conf=kept(cpu=1, memory=8), binds="a-",
    ),
    Case("a pod that requests a gpu may have it all", node("a", 8, gpu=1), gang(1, 8, gpu=1), conf=kept(cpu=8),
         binds="a"),
    Case(
        "gpus in use keep nothing", node("a", 10, gpu=2), foreign("a", 1, gpu=1), gang(1, 1), conf=kept(cpu=8),
        binds="a",
    ),
    Case("one core and one gigabyte by default", node("a", 4, gpu=4), gang(1), conf=kept(), binds="-"),
    Case("a node without gpus keeps nothing", node("a", 4, gpu=4), node("b"), gang(4), conf=kept(), binds="bbbb"),
    Case("nothing is kept unless it is switched on", node("a", 4, gpu=4), gang(1), binds="a",
         conf=fitted(proportional={"resources": GPU})),
    Case("a gang that would eat into it waits whole", node("a", 6, gpu=4), gang(3), conf=kept(), binds="---"),
    Case("up to the last core that is free", node("a", 6, gpu=4), gang(2), conf=kept(), binds="aa"),
    Case(
        "what is being released counts as idle", node("a", 4, gpu=2), running("a", 2, releasing=True),
        gang(1, 2, name="first"), gang(1, 1, name="second"), conf=kept(), binds="a-",
    ),
    Case(
        "a device that is being released keeps its reserved capacity", node("a", 4, gpu=2),
        running("a", 1, gpu=2, releasing=True),
        gang(1, 2, name="first"), gang(1, 1, name="second"), conf=kept(), binds="a-",
    ),
    Case(
        "victims are selected beside what is reserved", node("a", 4, gpu=2), priority_class("high", 9), running("a", 2),
        gang(1, 2, priority="high"), evicts=["old-task-0"], binds="A",
        conf=configuration(
            ["priority", "gang"], ["predicates", plugin("resource-strategy-fit", PROPORTIONAL)],
            actions="enqueue, allocate, preempt",
        ),
    ),
    Case("pods without a request may stay", node("a", 4, gpu=4), gang(1, cpu=None), conf=kept(), binds="a"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*STRATEGIES, *PREFERENCES, *SCARCITY, *PROPORTIONS], ids=str)
def test_resource_strategy_fit(case: Case) -> None:
    case.check()


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"resources": {"cpu": {"type": "Most"}}}, "cpu: type: expected LeastAllocated or MostAllocated, got 'Most'"),
    ({"resources": {"cpu": {"weight": -1}}}, "cpu: weight: expected at least 0, got -1"),
    ({"resources": {"cpu": "MostAllocated"}}, "cpu: expected a mapping, got 'MostAllocated'"),
    ({"sra": {"resourceWeight": {GPU: 0.5}}}, f"resourceWeight: {GPU}: expected a whole number, got 0.5"),
    ({"proportional": {"resourceProportion": {f"{GPU}.cpu": "8k"}}}, f"{GPU}.cpu: expected a number, got '8k'"),
    ({"proportional": {"enable": "perhaps"}}, "enable: expected true or false, got 'perhaps'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), MISTAKES)
def test_error_inside_argument_is_rejected_with_its_path(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Case("", nodes(1, 1), gang(1), binds="").plan(fitted(**arguments))
    [key] = arguments
    assert f"argument {key!r} of plugin 'resource-strategy-fit': " in str(refused.value)
    assert words in str(refused.value)
