"""nodegroup in random clusters: pods run in groups that their queue allows, within its limits."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import gang, node, queue
from tests.testing.random_clusters.effort import examples

GROUPS = ("red", "blue", "green")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

lists = st.lists(st.sampled_from(GROUPS), unique=True, max_size=2)
affinities = st.fixed_dictionaries({REQUIRED: lists, PREFERRED: lists})
limits = st.dictionaries(st.sampled_from(GROUPS), st.integers(0, 6), max_size=2)


@examples(100)
@given(
    groups=st.lists(st.sampled_from(("", *GROUPS)), min_size=1, max_size=6),
    affinity=affinities,
    anti=affinities,
    limit=limits,
    jobs=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(1, 3)), min_size=1, max_size=4),
    strict=st.booleans(),
    scores=st.booleans(),
)
def test_pods_run_in_groups_of_their_queue(
    groups: list[str], affinity: Any, anti: Any, limit: Any, jobs: Any, strict: bool, scores: bool
) -> None:
    labels = dict(zip("abcdef", groups, strict=False))
    machines = [node(n, 4, labels={"volcano.sh/nodegroup-name": g} if g else {}) for n, g in labels.items()]
    amounts = {name: {"cpu": most} for name, most in limit.items()}
    team = queue(
        "team", affinity={"nodeGroupAffinity": affinity, "nodeGroupAntiAffinity": anti},
        annotations={"volcano.sh/nodegroup-resource-limits": json.dumps(amounts)},
    )  # fmt: skip
    gangs = [
        gang(count, cpu, name=f"job{place}", minimum=min(minimum, count), queue="team")
        for place, (count, minimum, cpu) in enumerate(jobs)
    ]
    conf = configuration(
        "gang", "predicates", plugin("nodegroup", {"strict": strict}), *(["nodeorder"] if scores else [])
    )
    plan = Case("", machines, team, gangs, binds="", cycles=2).plan(conf)
    sizes = {f"default/job{place}-task-{number}": cpu for place, (n, _, cpu) in enumerate(jobs) for number in range(n)}
    used: dict[str, int] = defaultdict(int)
    welcome = {*affinity[REQUIRED], *affinity[PREFERRED], *(set(anti[PREFERRED]) - set(anti[REQUIRED]))}
    is_unrestricted = not any((*affinity.values(), *anti.values()))
    for pod, place in plan.binds.items():
        group = labels[place]
        assert group in welcome if group else is_unrestricted and not strict
        used[group] += sizes[pod]
    for name, most in limit.items():
        assert used[name] <= most
