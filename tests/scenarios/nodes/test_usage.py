"""Pods are placed on nodes with a low measured usage."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import gang, gang_of, node, nodes, pod, running
from tests.testing.manifests.node_usage import NOON, clock, measured


def usage(given: dict[str, Any] | None = None, **switches: bool) -> str:
    return configuration("gang", "predicates", plugin("usage", given, **switches))


TWO = nodes(10, 2, memory="100Gi")
#: Measured: node b has a lower load.
B_IS_CALM = [measured("a", 4, "40Gi"), measured("b", 2, "20Gi")]
UNKNOWN = "usage: no usage metrics of the last 5m for {} nodes; their load is ignored"

LIMITS = [
    Case("a node with a high cpu load takes no pod", TWO, measured("a", "8001m"), measured("b", 8), gang(1),
         conf=usage({"usage.weight": 0}), binds="b"),
    Case("up to the limit it does", TWO, measured("a", 8), measured("b", 8), gang(1), conf=usage({"usage.weight": 0}),
         binds="a"),
    Case("nor one whose memory is", TWO, measured("a", 1, "81Gi"), measured("b", 9), gang(1), conf=usage(), binds="-",
         reasons={"gang": ["0/2 nodes are available: 1 the CPU load of the node exceeds the upper limit, "
                           "1 the memory load of the node exceeds the upper limit."]},
         codes={"gang": ["NodeLoadTooHigh"]}),
    Case("cpu is named first when both are", TWO, measured("a", 9, "90Gi"), measured("b", 9, "90Gi"), gang(1),
         conf=usage(), binds="-",
         reasons={"gang": ["0/2 nodes are available: 2 the CPU load of the node exceeds the upper limit."]}),
    Case("the limit of cpu may be another", TWO, measured("a", 6), measured("b", 4), gang(1),
         conf=usage({"thresholds": {"cpu": 50}, "usage.weight": 0}), binds="b"),
    Case("and the other one stays", TWO, measured("a", 1, "81Gi"), measured("b", 1), gang(1),
         conf=usage({"thresholds": {"cpu": 50}, "usage.weight": 0}), binds="b"),
    Case("the limit of memory, too", TWO, measured("a", 1, "60Gi"), measured("b", 1, "50Gi"), gang(1),
         conf=usage({"thresholds": {"mem": 55}, "usage.weight": 0}), binds="b"),
    Case("by the older names of the limits", TWO, measured("a", 6), measured("b", 4, "60Gi"), gang(1),
         conf=usage({"thresholds": {"CPUUsageAvg.5m": 50, "MEMUsageAvg.5m": 55}}), binds="-"),
    Case("the strictest of several", TWO, measured("a", 6), measured("b", 4), gang(1),
         conf=usage({"thresholds": {"CPUUsageAvg.5m": 50, "cpu": 70}, "usage.weight": 0}), binds="b"),
    Case("the switch of the rule", TWO, measured("a", 9), measured("b", 9), gang(1), conf=usage(enablePredicate=False),
         binds="a"),
    Case("usage counts, requests do not", TWO, measured("a", 1), measured("b", 9),
         running("a", cpu=9), gang(1), conf=usage(), binds="a"),
    Case("a gang is whole or not there", nodes(2, 2), measured("a", 0), measured("b", "1900m"), gang(4), conf=usage(),
         binds="----"),
]  # fmt: skip

AGE = [
    Case("a metric of five minutes counts", clock("2026-03-01T12:05:00Z"), TWO, measured("a", 9), measured("b", 1),
         gang(1), conf=usage({"usage.weight": 0}), binds="b"),
    Case("an older one does not", clock("2026-03-01T12:05:01Z"), TWO, measured("a", 9), measured("b", 9),
         gang(1), conf=usage(), binds="a", warnings=[UNKNOWN.format("2 of 2")]),
    Case("a node without metrics is not rejected, and has score zero", TWO, measured("b", 5), gang(1), conf=usage(),
         binds="b", warnings=[UNKNOWN.format("1 of 2")]),
    Case("no metrics at all", TWO, gang(1), conf=usage(), binds="a", warnings=[UNKNOWN.format("2 of 2")]),
    Case("figures of nodes that are not there", TWO, measured("x", 9), *B_IS_CALM, gang(1), conf=usage(), binds="b"),
    Case("an invalid metric is ignored", TWO, measured("a", "much"), measured("b", 1), gang(1),
         conf=usage(), binds="b", warnings=[
             'NodeMetrics a: usage.cpu: "much" is not a quantity; write a number and a suffix, as in 500m, 2, 1.5 or '
             "4Gi; it is ignored", UNKNOWN.format("1 of 2")]),
    Case("so is one without a time", nodes(10, 1), measured("a", 9, at=""), gang(1), conf=usage(), binds="a", warnings=[
             "NodeMetrics a: timestamp: there is no time of the measurement; write one such as 2026-01-31T12:00:00Z; "
             "it is ignored", UNKNOWN.format("1 of 1")]),
    Case("a node without capacity has no utilization", node("a", 0), node("b"), measured("a", 1), measured("b", 1),
         gang(1), conf=usage(), binds="b", warnings=[UNKNOWN.format("1 of 2")]),
]  # fmt: skip

SCORES = [
    Case("the calm node is the better one", TWO, B_IS_CALM, gang(1), conf=usage(), binds="b"),
    Case("the switch of the score", TWO, B_IS_CALM, gang(1), conf=usage(enableNodeOrder=False), binds="a"),
    Case("without weight it does not count", TWO, B_IS_CALM, gang(1), conf=usage({"usage.weight": 0}), binds="a"),
    Case("cpu and memory weigh the same", TWO, measured("a", 4, "10Gi"), measured("b", 2, "20Gi"), gang(1),
         conf=usage(), binds="b"),
    Case("or not", TWO, measured("a", 4, "10Gi"), measured("b", 2, "20Gi"), gang(1), conf=usage({"memory.weight": 5}),
         binds="a"),
    Case("cpu may weigh more", TWO, measured("a", 2, "30Gi"), measured("b", 4, "0"), gang(1),
         conf=usage({"cpu.weight": 5}), binds="a"),
    Case("nothing weighs anything", TWO, B_IS_CALM, gang(1), conf=usage({"cpu.weight": 0, "memory.weight": 0}),
         binds="a"),
    Case("its weight against others", TWO, measured("a", 1), measured("b", 0), running("a"), gang(1),
         conf=configuration("gang", "predicates", plugin("binpack", {"binpack.weight": 10}), "usage"), binds="a"),
    Case("its weight may be more", TWO, measured("a", 1), measured("b", 0), running("a"), gang(1),
         conf=configuration("gang", "predicates", "binpack", plugin("usage", {"usage.weight": 50})), binds="b"),
]  # fmt: skip

#: Node a has a slightly lower load; one requested cpu counts as 700m used, or 7 % of the node.
A_LITTLE = [measured("a", 2), measured("b", "2100m")]
ESTIMATES = [
    Case("a placed pod is expected to use a part of its request", TWO, A_LITTLE, gang(4), conf=usage(),
         binds="abab"),
    Case("all of it", TWO, measured("a", 2), measured("b", "2900m"), gang(2), conf=usage(), binds="aa",),
    Case("by another ratio", TWO, measured("a", 2), measured("b", "2900m"), gang(2),
         conf=usage({"estimator": {"request_ratio": 1}}), binds="ab"),
    Case("limits count by the burst ratio", TWO, measured("a", 2), measured("b", "2900m"),
         gang_of(*[pod(0, containers=[{"name": "m", "resources": {"requests": {"cpu": 1}, "limits": {"cpu": 5}}}])] * 2,
                 minimum=2),
         conf=usage({"estimator": {"burst_ratio": 0.1}}), binds="ab"),
    Case("without a limit there is no burst", TWO, measured("a", 2), measured("b", "2900m"), gang(2),
         conf=usage({"estimator": {"burst_ratio": 0.9}}), binds="aa"),
    Case("no pod is expected to use more than its limit", TWO, measured("a", 2), measured("b", "3100m"),
         gang_of(*[pod(0, containers=[{"name": "m", "resources": {"limits": {"cpu": 1}}}])] * 2, minimum=2),
         conf=usage({"estimator": {"request_ratio": 3}}), binds="aa"),
    Case("a pod without a request uses something", TWO, measured("a", 2), measured("b", "2400m"),
         running("a", cpu=0, placed=NOON), gang(1), conf=usage(), binds="a"),
    Case("the amount is configurable", TWO, measured("a", 2), measured("b", "2400m"),
         running("a", cpu=0, placed=NOON), gang(1), conf=usage({"estimator": {"be_cpu": "500m"}}),
         binds="b"),
    Case("of memory, too", TWO, measured("a", 2), measured("b", 2, "9Gi"),
         running("a", cpu=0, placed=NOON), gang(1), conf=usage({"estimator": {"be_mem": "10Gi"}}),
         binds="b"),
    Case("on a node at risk more is expected", TWO, measured("a", 7, "70Gi"), measured("b", "7750m", "70Gi"), gang(2),
         conf=usage(), binds="ab"),
    Case("from a risk that may be another", TWO, measured("a", 7, "70Gi"), measured("b", "7750m", "70Gi"), gang(2),
         conf=usage({"estimator": {"risk_threshold": 0.9}}), binds="aa"),
    Case("by a factor that may be another", TWO, measured("a", 7, "70Gi"), measured("b", "7750m", "70Gi"), gang(2),
         conf=usage({"estimator": {"risk_factor": 1}}), binds="aa"),
    Case("a pod that runs for a while is part of the metric", TWO, A_LITTLE,
         running("a", placed="2026-03-01T11:00:00Z"), gang(1),
         conf=usage(), binds="a"),
    Case("a pod that has just started is not", TWO, A_LITTLE, running("a", placed="2026-03-01T11:59:45Z"), gang(1),
         conf=usage(), binds="b"),
    Case("nor one that started after the metric was taken", clock("2026-03-01T12:04:00Z"), TWO, A_LITTLE,
         running("a", placed="2026-03-01T12:01:00Z"), gang(1), conf=usage(), binds="b"),
    Case("a pod that is being bound counts", TWO, A_LITTLE,
         gang_of(pod(nodeName="a", phase="Pending"), name="old", phase="Running"), gang(1), conf=usage(), binds="b"),
    Case("a placement that was rolled back does not", TWO, A_LITTLE,
         gang_of(pod(), pod(99), minimum=2, name="first"), gang(1, name="second"), conf=usage(), binds="--a"),
    Case("the next cycle expects the same", TWO, A_LITTLE, gang(1, name="one"), gang(1, name="two"), cycles=2,
         conf=usage(), binds="ab"),
]  # fmt: skip

CASES = [*LIMITS, *AGE, *SCORES, *ESTIMATES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_usage(case: Case) -> None:
    case.check()


WRONG = [
    ({"thresholds": {"cpu": -1}}, "argument 'thresholds' of plugin 'usage': cpu: expected at least 0, got -1"),
    ({"estimator": {"be_cpu": "lots"}}, 'argument \'estimator\' of plugin \'usage\': be_cpu: "lots" is not a quantity'),
    ({"usage.weight": -1}, "argument 'usage.weight' of plugin 'usage': expected at least 0, got -1"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[words[:60] for _, words in WRONG])
def test_invalid_arguments_are_rejected(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Case("wrong", binds="", conf=usage(given)).plan()
    assert words in str(raised.value)
