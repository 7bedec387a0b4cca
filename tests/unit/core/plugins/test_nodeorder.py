"""How the scorers of the nodeorder plugin rank nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.tasks.task_class import Toleration
from stromboli.core.plugins.nodeorder.nodes import ImageLocality, PreferredNodeAffinity, TaintToleration
from stromboli.core.plugins.nodeorder.plugin import NodeOrder
from stromboli.core.plugins.nodeorder.pods import PreferredPodAffinity, SoftTopologySpread
from stromboli.core.plugins.nodeorder.resources import BalancedResource, LeastRequested, MostRequested
from stromboli.core.search.node_rules import NodeScorer
from tests.testing.random_clusters.effort import examples
from tests.unit.core.plugins import reference_rules
from tests.unit.core.plugins.random_clusters import worlds
from tests.unit.core.plugins.row_clusters import check_rows, row_worlds
from tests.unit.core.plugins.rule_cluster import (
    GIB,
    GPU,
    Kind,
    Machine,
    World,
    build,
    kind,
    labelled,
    machine,
    near,
    spread,
    taint,
    zoned,
)

MIB = 1 << 20


class Case(NamedTuple):
    """Machines, pods on them, and the scores of the nodes in the order of their names."""

    title: str
    weight: str
    machines: Sequence[Machine]
    asks: Kind
    scores: Sequence[float]
    placed: Sequence[tuple[Kind, str]] = ()
    candidates: str | None = None


def sized(*shapes: tuple[int, int]) -> list[Machine]:
    """Nodes a, b, ... with so many cores and GiB."""
    return [machine(name, cpu=c * 1000, memory=m * GIB) for name, (c, m) in zip("abcdef", shapes, strict=False)]


def with_images(*images: dict[str, int]) -> list[Machine]:
    return [machine(name, images=each) for name, each in zip("abcdef", images, strict=False)]


def tainted(*texts: str) -> list[Machine]:
    """Nodes a, b, ... with the taints in a text each, separated by spaces."""
    every = [tuple(taint(word) for word in text.split()) for text in texts]
    return [machine(name, taints=taints) for name, taints in zip("abcdef", every, strict=False)]


SMALL = kind(request={"cpu": 1000, "memory": GIB})
NOTHING = kind(request={})
MEMORY_ONLY = kind(request={"memory": GIB})
GPU_USER = kind(request={"cpu": 1000, "memory": 2 * GIB, GPU: 1000})
DISKS = [machine("a", labels={"disk": "ssd", "big": "y"}), machine("b", labels={"disk": "ssd"}), machine("c")]
LIKES_DISKS = kind(preferred_node_terms=((10, labelled(disk="ssd")), (30, labelled(big="y"))))
PULLS = kind(images=("model", "tool"), container_count=2)
ZONES = zoned("a:x b:y c:y d")
WEB, CACHE = kind("app=web"), kind("app=cache")
LIKES_CACHE = kind("app=web", preferred_affinity=((4, near("app=cache")),))
AVOIDS_CACHE = kind("app=web", preferred_affinity=((-4, near("app=cache")),))
EVEN = kind("app=web", spread=(spread("app=web", hard=False),))
LOG = math.log(2 + 2)
#: cpu, memory and GPU would be used by a quarter, an eighth and a half.
UNEVEN = math.sqrt(((1 / 4 - 7 / 24) ** 2 + (1 / 8 - 7 / 24) ** 2 + (1 / 2 - 7 / 24) ** 2) / 3)

CASES = [
    Case("half of the cores and three quarters of the memory left",
         "leastrequested", sized((2, 4)), SMALL, [62.5]),
    Case("what others use counts",
         "leastrequested", sized((2, 4), (4, 4)), SMALL, [25.0, 50.0], [(SMALL, "a"), (SMALL, "b")]),
    Case("too much of one resource counts as none of it left",
         "leastrequested", sized((1, 4)), SMALL, [12.5], [(SMALL, "a"), (SMALL, "a")]),
    Case("a node that has nothing", "leastrequested", sized((0, 4), (0, 0)), SMALL, [37.5, 0.0]),
    Case("pods that ask for nothing cost a little",
         "leastrequested", [machine("a", cpu=1000, memory=1000 * MIB)], NOTHING, [85.0]),
    Case("the other way round", "mostrequested", sized((2, 4)), SMALL, [37.5]),
    Case("full is best, too full is nothing", "mostrequested", sized((1, 1), (1, 4)), SMALL, [100.0, 25.0],
         [(MEMORY_ONLY, "b")]),
    Case("a node without cpu has none in use", "mostrequested", sized((0, 4), (0, 0)), SMALL, [12.5, 0.0]),
    Case("evenly used", "balancedresource", sized((2, 2), (4, 2), (4, 4)), SMALL, [100.0, 87.5, 100.0]),
    Case("no more than all of a resource can be used",
         "balancedresource", sized((1, 4)), SMALL, [62.5 + 12.5], [(SMALL, "a")]),
    Case("pods that ask for nothing do not care", "balancedresource", sized((2, 2)), NOTHING, [0.0]),
    Case("a resource that the node lacks and no pod requests is left out",
         "balancedresource", sized((0, 4), (4, 4)), MEMORY_ONLY, [100.0, 87.5]),
    Case("GPUs count for those who ask for them",
         "balancedresource", [machine("a", cpu=4000, memory=16 * GIB, gpu=2000)], GPU_USER, [100 * (1 - UNEVEN)]),
    Case("and for no other pod",
         "balancedresource", [machine("a", cpu=4000, memory=4 * GIB, gpu=2000)], SMALL, [100.0], [(SMALL, "a")]),
    Case("GPUs of a node without memory",
         "balancedresource", [machine("a", cpu=4000, memory=0, gpu=2000)],
         kind(request={"cpu": 1000, GPU: 1000}), [87.5]),
    Case("relative to the best candidate", "nodeaffinity", DISKS, LIKES_DISKS, [100.0, 25.0, 0.0]),
    Case("who is no candidate sets no scale",
         "nodeaffinity", DISKS, LIKES_DISKS, [400.0, 100.0, 0.0], candidates="b c"),
    Case("no node matches the preference", "nodeaffinity", DISKS, LIKES_DISKS, [0.0, 0.0, 0.0], candidates="c"),
    Case("no candidate at all", "nodeaffinity", DISKS, LIKES_DISKS, [0.0, 0.0, 0.0], candidates=""),
    Case("the fewer unwelcome taints the better",
         "tainttoleration", tainted("", "k:PreferNoSchedule", "k:PreferNoSchedule l:PreferNoSchedule"), WEB,
         [100.0, 50.0, 0.0]),
    Case("tolerated ones do not count",
         "tainttoleration", tainted("", "k:PreferNoSchedule", "k:PreferNoSchedule l:PreferNoSchedule"),
         kind(tolerations=(Toleration("k", "Exists"),)), [100.0, 100.0, 0.0]),
    Case("all are tolerated",
         "tainttoleration", tainted("", "k:PreferNoSchedule"), kind(tolerations=(Toleration("", "Exists"),)),
         [100.0, 100.0]),
    Case("no candidate has any",
         "tainttoleration", tainted("", "k:PreferNoSchedule"), WEB, [100.0, 100.0], candidates="a"),
    Case("taints that forbid are not its business", "tainttoleration", tainted("", "k:NoSchedule"), WEB, [0.0, 0.0]),
    Case("a large image on every other node",
         "imagelocality", with_images({"model": 1000 * MIB}, {}), PULLS, [100 * (500 - 23) / (2000 - 23), 0.0]),
    Case("several images add up",
         "imagelocality", with_images({"model": 1000 * MIB, "tool": 100 * MIB}), PULLS,
         [100 * (1100 - 23) / (2000 - 23)]),
    Case("small ones are not worth it", "imagelocality", with_images({"tool": 20 * MIB}), PULLS, [0.0]),
    Case("enough is enough", "imagelocality", with_images({"model": 9000 * MIB}), PULLS, [100.0]),
    Case("near the cache", "podaffinity", ZONES, LIKES_CACHE, [0.0, 100.0, 100.0, 0.0], [(CACHE, "b")]),
    Case("the more the better", "podaffinity", ZONES, LIKES_CACHE, [50.0, 100.0, 100.0, 0.0],
         [(CACHE, "a"), (CACHE, "b"), (CACHE, "c")]),
    Case("away from the cache", "podaffinity", ZONES, AVOIDS_CACHE, [100.0, 0.0, 0.0, 100.0], [(CACHE, "b")]),
    Case("liked by what is there", "podaffinity", ZONES, CACHE, [100.0, 0.0, 0.0, 0.0], [(LIKES_CACHE, "a")]),
    Case("avoided by what is there", "podaffinity", ZONES, CACHE, [0.0, 100.0, 100.0, 100.0], [(AVOIDS_CACHE, "a")]),
    Case("all candidates alike", "podaffinity", ZONES, LIKES_CACHE, [0.0] * 4, [(CACHE, "b")], candidates="b c"),
    Case("no candidates", "podaffinity", ZONES, LIKES_CACHE, [0.0] * 4, [(CACHE, "b")], candidates=""),
    Case("no cache", "podaffinity", ZONES, LIKES_CACHE, [0.0] * 4),
    Case("the emptier zone; none is worst", "podtopologyspread", ZONES, EVEN, [0.0, 100.0, 100.0, 0.0], [(WEB, "a")]),
    Case("relative to the fullest", "podtopologyspread", ZONES, EVEN, [50.0, 100.0, 100.0, 0.0],
         [(WEB, "a"), (WEB, "a"), (WEB, "b")]),
    Case("a skew makes differences smaller",
         "podtopologyspread", ZONES, kind("app=web", spread=(spread("app=web", hard=False, max_skew=3),)),
         [100 * 2 / (LOG + 2), 100.0, 100.0, 0.0], [(WEB, "a")]),
    Case("no pods yet", "podtopologyspread", ZONES, EVEN, [100.0, 100.0, 100.0, 0.0]),
    Case("no candidates to spread over",
         "podtopologyspread", ZONES, EVEN, [100.0, 100.0, 100.0, 0.0], [(WEB, "a")], candidates=""),
]  # fmt: skip

WEIGHTS = {argument.key: argument.default for argument in NodeOrder.arguments.declared}
RULES: dict[str, type[NodeScorer]] = {
    "leastrequested": LeastRequested,
    "mostrequested": MostRequested,
    "balancedresource": BalancedResource,
    "nodeaffinity": PreferredNodeAffinity,
    "tainttoleration": TaintToleration,
    "imagelocality": ImageLocality,
    "podaffinity": PreferredPodAffinity,
    "podtopologyspread": SoftTopologySpread,
}


def only(name: str, weight: int, world: World) -> NodeScorer:
    """The plugin with one scorer left."""
    weights = dict.fromkeys(WEIGHTS, 0) | {f"{name}.weight": weight}
    (scorer,) = world.open(build(NodeOrder, **weights)).node_scorers()
    assert type(scorer) is RULES[name]
    return scorer


@pytest.mark.parametrize("weight", [1, 3, -2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.weight}: {case.title}")
def test_scores(case: Case, weight: int) -> None:
    world = World(case.machines, [case.asks], case.placed)
    scores = world.scores(only(case.weight, weight, world), case.asks, case.candidates)
    assert list(scores.values()) == pytest.approx([weight * score for score in case.scores], abs=1e-9)


def test_required_terms_of_existing_pods_do_not_score() -> None:
    hates_web = kind("app=cache", anti_affinity=(near("app=web"),))
    world = World(ZONES, [WEB], [(hates_web, "a")])
    assert not PreferredPodAffinity(1).applies_to(world.classes[WEB], world.ledger)


def test_scorers_with_weight_zero_are_disabled() -> None:
    assert WEIGHTS == {
        "leastrequested.weight": 1, "mostrequested.weight": 0, "balancedresource.weight": 1, "nodeaffinity.weight": 2,
        "podaffinity.weight": 2, "tainttoleration.weight": 3, "imagelocality.weight": 1, "podtopologyspread.weight": 2,
    }  # fmt: skip
    assert MostRequested not in [type(scorer) for scorer in build(NodeOrder).node_scorers()]
    assert not build(NodeOrder, **dict.fromkeys(WEIGHTS, 0)).node_scorers()


@examples(200)
@given(world=row_worlds(), weight=st.sampled_from([1, 3, -2]), data=st.data())
def test_row_scorers_depend_on_the_row_only(world: World, weight: int, data: st.DataObject) -> None:
    rows = ("leastrequested.weight", "mostrequested.weight", "balancedresource.weight")
    check_rows(build(NodeOrder, **dict.fromkeys(rows, weight)), world, data)


Naive = Callable[[World, Kind, Sequence[str]], dict[str, float]]
NAIVE: dict[str, Naive] = {
    "podaffinity": reference_rules.preferred_affinity,
    "podtopologyspread": reference_rules.soft_spread,
}


@examples(300)
@given(world=worlds(), data=st.data())
def test_cluster_scorers_agree_with_reference(world: World, data: st.DataObject) -> None:
    candidates = sorted(data.draw(st.sets(st.sampled_from(world.nodes.names), min_size=1)))
    for name, naive in NAIVE.items():
        scorer = only(name, 1, world)
        for each in world.kinds:
            if scorer.applies_to(world.classes[each], world.ledger):
                scores = world.scores(scorer, each, " ".join(candidates))
                chosen = {node: scores[node] for node in candidates}
                assert chosen == pytest.approx(naive(world, each, candidates), abs=1e-9), name


def naive_balance(world: World, each: Kind, row: int) -> float:
    """By the book: the population's standard deviation of the fractions of the resources there are."""
    asked = dict(world.classes[each].request)
    books = world.ledger.all_rows
    compared = [d for d in (0, 1, 3) if (d != 3 or d in asked) and books.allocatable(d)[row] > 0]
    used = [int(books.used(d)[row]) + asked.get(d, 0) for d in compared]
    fractions = [min(1.0, u / int(books.allocatable(d)[row])) for u, d in zip(used, compared, strict=True)]
    if not fractions:
        return 100.0
    mean = sum(fractions) / len(fractions)
    return 100 * (1 - math.sqrt(sum((f - mean) ** 2 for f in fractions) / len(fractions)))


@examples(200)
@given(world=row_worlds())
def test_balance_agrees_with_standard_deviation_on_feasible_nodes(world: World) -> None:
    scorer = only("balancedresource", 1, world)
    for each in world.kinds:
        task_class, rows = world.classes[each], world.ledger.all_rows
        if scorer.applies_to(task_class, world.ledger):
            scores = scorer.scores(task_class, rows, world.ledger, None)
            for row in range(len(world.nodes)):
                if all(rows.allocatable(d)[row] > 0 for d, _ in task_class.request):
                    assert scores[row] == pytest.approx(naive_balance(world, each, row), abs=1e-7)
