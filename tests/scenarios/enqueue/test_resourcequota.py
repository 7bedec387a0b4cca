"""A job is admitted when the quotas of its namespace have enough left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import GPU, gang, group, namespace, node, nodes, quota

CONF = configuration("gang", "predicates", "resourcequota")
NODES = nodes(99, 1)


def asking(name: str = "gang", minimum: int = 2, **facts: Any) -> Any:
    """A group whose pods are created once it is admitted."""
    return group(name, minimum, resources=facts.pop("resources", {"cpu": 4}), **facts)


def case(name: str, *world: Any, phase: str = "Inqueue", why: str = "", conf: str = CONF, **expected: Any) -> Case:
    """Whether the group `gang` is admitted, and its reason if not."""
    waits = ["no pods exist yet, 2 must start together", "the job is not admitted to its queue yet"]
    reported = {"gang": [f"resource quota insufficient, {why}", *waits]} if why else None
    return Case(name, NODES, *world, conf=conf, binds="", phases={"gang": phase}, reasons=reported, **expected)


LET_IN = [
    case("nothing is limited without a quota", asking()),
    case("up to the limit", quota("q", {"cpu": 10}, {"cpu": 6}), asking()),
    case(
        "not beyond it", quota("q", {"cpu": 10}, {"cpu": 7}), asking(), phase="Pending",
        why="requested: cpu=4, used: cpu=7, limited: cpu=10 (ResourceQuota q)",
    ),
    case(
        "requests.cpu is the same as cpu", quota("q", {"requests.cpu": 10}, {"requests.cpu": "6500m"}), asking(),
        phase="Pending", why="requested: cpu=4, used: cpu=6500m, limited: cpu=10 (ResourceQuota q)",
    ),
    case(
        "also where the job names it so", quota("q", {"cpu": 3}), asking(resources={"requests.cpu": 4}),
        phase="Pending", why="requested: cpu=4, used: cpu=0, limited: cpu=3 (ResourceQuota q)",
    ),
    case("the smaller of two names for one resource", quota("q", {"cpu": 9, "requests.cpu": 3}), asking(),
          phase="Pending", why="requested: cpu=4, used: cpu=0, limited: cpu=3 (ResourceQuota q)"),
    case("memory with a suffix", quota("q", {"memory": "4Gi"}, {"memory": "2Gi"}),
          asking(resources={"memory": "3Gi"}), phase="Pending",
          why="requested: memory=3Gi, used: memory=2Gi, limited: memory=4Gi (ResourceQuota q)"),
    case("resources that a job does not request do not matter", quota("q", {"memory": "1Gi"}, {"memory": "9Gi"}),
         asking()),
    case("limits, where the job states them", quota("q", {"limits.cpu": 5}),
          asking(resources={"cpu": 4, "limits.cpu": 6}), phase="Pending",
          why="requested: limits.cpu=6, used: limits.cpu=0, limited: limits.cpu=5 (ResourceQuota q)"),
    case("limits of a job with minimum zero", quota("q", {"limits.cpu": 5}),
          asking(minimum=0, resources={"limits.cpu": 6}), phase="Pending"),
    case("and not where it does not", quota("q", {"limits.cpu": 1}), asking()),
    case("devices", quota("q", {f"requests.{GPU}": 8}, {f"requests.{GPU}": 6}), asking(resources={GPU: 4}),
          node("gpus", gpu=8), phase="Pending",
          why=f"requested: {GPU}=4, used: {GPU}=6, limited: {GPU}=8 (ResourceQuota q)"),
    case("the number of pods is that of its minimum", quota("q", {"pods": 3}, {"pods": 2}), asking(), phase="Pending",
          why="requested: pods=2, used: pods=2, limited: pods=3 (ResourceQuota q)"),
    case("counted in either way", quota("q", {"count/pods": 3}, {"count/pods": 2}), asking(), phase="Pending",
          why="requested: pods=2, used: pods=2, limited: pods=3 (ResourceQuota q)"),
    case("every quota needs enough left", quota("one", {"cpu": 10}), quota("two", {"cpu": 2}), asking(),
          phase="Pending",
          why="requested: cpu=4, used: cpu=0, limited: cpu=2 (ResourceQuota two)"),
    case("every exceeded resource is reported", quota("q", {"cpu": 1, "memory": 1, "pods": 9}),
          asking(resources={"cpu": 4, "memory": "1Ki"}), phase="Pending",
          why="requested: cpu=4,memory=1Ki, used: cpu=0,memory=0, limited: cpu=1,memory=1 (ResourceQuota q)"),
    case("quotas of other namespaces", namespace("other"), quota("q", {"cpu": 1}, namespace="other"), asking()),
    case("a job without a request is admitted", quota("q", {"cpu": 0}), group("gang", 1)),
    case("the switch", quota("q", {"cpu": 1}), asking(),
          conf=configuration("gang", plugin("resourcequota", enableJobEnqueued=False))),
    case("a quota for some pods only is left to the server", quota("q", {"cpu": 1}, scopes=["BestEffort"]), asking()),
    case(
        "a quota for some classes, too", asking(),
        quota("q", {"cpu": 1}, scopeSelector={"matchExpressions": [{"scopeName": "NotTerminating"}]}),
    ),
    case("an invalid quota is reported", quota("q", {"cpu": "many"}), asking(),
          warnings=[
              'ResourceQuota default/q: spec.hard.cpu: "many" is not a quantity; write a number and a suffix, '
              "as in 500m, 2, 1.5 or 4Gi; the quota is left out",
          ]),
]  # fmt: skip

TOGETHER = [
    Case("an admitted job counts", NODES, quota("q", {"cpu": 7}), asking("one"), asking("two"), conf=CONF, binds="",
         phases={"one": "Inqueue", "two": "Pending"},
         codes={"two": ["NamespaceQuotaExceeded", "NoPodsYet", "NotAdmitted"]}),
    Case("also one of an earlier cycle", NODES, quota("q", {"cpu": 7}), asking("one", phase="Inqueue"), asking("two"),
         conf=CONF, binds="", phases={"one": "Inqueue", "two": "Pending"}),
    Case("and one of the cycle before", NODES, quota("q", {"cpu": 7}), asking("one"), asking("two"), cycles=2,
         conf=CONF,
         binds="", phases={"one": "Inqueue", "two": "Pending"}),
    Case("a rejected job does not count", NODES, quota("q", {"cpu": 7}), asking("one", resources={"cpu": 9}),
         asking("two"), conf=CONF, binds="", phases={"one": "Pending", "two": "Inqueue"}),
    Case("other namespaces are not affected", NODES, quota("q", {"cpu": 7}), asking("one"), namespace("other"),
         quota("q", {"cpu": 7}, namespace="other"), asking("two", namespace="other"), conf=CONF, binds="",
         phases={"one": "Inqueue", "other/two": "Inqueue"}),
    Case("pods that exist are in use already", NODES, quota("q", {"cpu": 4, "pods": 2}, {"cpu": 4, "pods": 2}),
         gang(2, cpu=2, resources={"cpu": 4}), conf=CONF, binds="aa"),
    Case("half of them, half of it", NODES, quota("q", {"cpu": 4, "limits.cpu": 4}, {"cpu": 2, "limits.cpu": 2}),
         gang(1, cpu=2, minimum=2, resources={"cpu": 4, "limits.cpu": 4}), conf=CONF, binds="-",
         phases={"gang": "Inqueue"}),
    Case("the other half must fit", NODES, quota("q", {"limits.cpu": 3}, {"limits.cpu": 2}),
         gang(1, cpu=2, minimum=2, resources={"cpu": 4, "limits.cpu": 4}), conf=CONF, binds="-",
         phases={"gang": "Pending"}),
    Case("an admitted job with all its pods counts nothing more", NODES, quota("q", {"cpu": 8}, {"cpu": 4}),
         gang(2, cpu=2, resources={"cpu": 4}, name="one", phase="Inqueue", gated=True), asking("two"), conf=CONF,
         binds="--", phases={"two": "Inqueue"}),
]  # fmt: skip


@pytest.mark.parametrize("case", [*LET_IN, *TOGETHER], ids=str)
def test_resourcequota(case: Case) -> None:
    case.check()
