"""The scheduler compared with a simple reference that shares no code with it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given

from benchmarks import clusters as benchmark_worlds
from stromboli.kube import KubeObject
from tests.properties.cycle import reference
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, plan_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, tight_worlds, worlds

ALONE = Traits(pod_rules=0, sub_groups=False)
#: Only shares and limits matter, not where pods may run.
POLITICS = replace(ALONE, node_rules=False, policies=2, most_nodes=3, experienced=4)


def compare(objects: Sequence[KubeObject]) -> int:
    """Return the number of bound pods: the same ones on the same nodes, with the same jobs admitted."""
    plan, expected = plan_of(objects), reference.Reference(objects, SCHEDULER_NAMES)
    binds, pipelined = expected.run()
    assert plan.binds == binds
    assert plan.pipelined == pipelined
    assert {key: job.phase for key, job in plan.session.jobs.items()} == {k: j.phase for k, j in expected.jobs.items()}
    return len(binds)


@examples(200)
@given(worlds(ALONE))
def test_small_clusters_are_decided_alike(world: SmallWorld) -> None:
    compare(world.objects)


@examples(300)
@given(worlds(POLITICS))
def test_queues_and_minimums_are_decided_alike(world: SmallWorld) -> None:
    compare(world.objects)


@examples(200)
@given(tight_worlds())
def test_pipelined_gangs_are_decided_alike(world: SmallWorld) -> None:
    compare(world.objects)


def test_the_benchmark_is_decided_alike() -> None:
    """100 nodes, 1,000 pods in gangs of ten, fifty templates one after the other."""
    objects: list[KubeObject] = [benchmark_worlds.node(number) for number in range(100)]
    specs = [benchmark_worlds.template(number) for number in range(benchmark_worlds.TEMPLATES)]
    for number in range(100):
        objects += benchmark_worlds.job(f"job-{number:03}", 10, specs[number % len(specs)])
    assert compare(objects) > 500


def test_the_reference_shares_no_code() -> None:
    """Shared code would repeat its errors."""
    tree = ast.parse(Path(reference.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert not [module for module in modules if module and module.startswith("stromboli.") and "kube" not in module]
