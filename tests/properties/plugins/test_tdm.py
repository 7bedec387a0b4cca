"""tdm in random clusters: revocable nodes accept their pods in active hours only, and no job loses too many."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import gang, namespace, node, running
from tests.testing.random_clusters.effort import examples

ZONE, PREEMPTABLE = "volcano.sh/revocable-zone", "volcano.sh/preemptable"
HOURS = {"day": "08:00-18:00", "night": "20:00-06:00"}
GUESTS: tuple[dict[str, str], ...] = ({}, {ZONE: "*"}, {PREEMPTABLE: "true"}, {PREEMPTABLE: "false"}, {ZONE: "day"})
WELCOME = GUESTS[1:3]


def clock(hour: int) -> dict[str, object]:
    metadata = {"name": "clock", "creationTimestamp": f"2026-03-01T{hour:02}:30:00Z"}
    return {**namespace("clock"), "metadata": metadata}


def is_open(zone: str, hour: int) -> bool:
    return 8 <= hour < 18 if zone == "day" else zone == "night" and not 6 <= hour < 20


zones = st.lists(st.sampled_from(["", "day", "night", "unknown"]), min_size=1, max_size=5)
ARGUMENTS = {f"tdm.revocable-zone.{zone}": hours for zone, hours in HOURS.items()}


@examples(80)
@given(
    zones=zones,
    hour=st.integers(0, 23),
    jobs=st.lists(st.tuples(st.integers(1, 4), st.sampled_from(GUESTS)), max_size=4),
)
def test_revocable_nodes_accept_pods_in_active_hours_only(
    zones: list[str], hour: int, jobs: list[tuple[int, dict[str, str]]]
) -> None:
    labels = dict(zip("abcde", zones, strict=False))
    machines = [node(name, 2, labels={ZONE: zone} if zone else {}) for name, zone in labels.items()]
    gangs = [gang(n, name=f"job{place}", minimum=0, annotations=notes) for place, (n, notes) in enumerate(jobs)]
    conf = configuration("gang", "predicates", plugin("tdm", ARGUMENTS))
    plan = Case("", clock(hour), machines, gangs, binds="").plan(conf)
    capacity = 2 * sum(1 for zone in zones if not zone)
    for pod, place in plan.binds.items():
        notes = jobs[int(pod.removeprefix("default/job").partition("-")[0])][1]
        assert not labels[place] or (is_open(labels[place], hour) and notes in WELCOME)
        capacity -= not labels[place]
    waiting = sum(n for n, _ in jobs) - len(plan.binds)
    assert capacity == 0 or not waiting, "a pod waits beside a free node that accepts every pod"


@examples(80)
@given(
    hour=st.integers(0, 23),
    jobs=st.lists(
        st.tuples(st.integers(1, 5), st.integers(0, 6), st.booleans(), st.booleans()), min_size=1, max_size=4
    ),
)
def test_no_job_loses_more_than_its_eviction_budget(hour: int, jobs: list[tuple[int, int, bool, bool]]) -> None:
    keys = {True: "volcano.sh/jdb-max-unavailable", False: "volcano.sh/jdb-min-available"}
    standing = [
        running("a" * count, name=f"job{place}", notes={PREEMPTABLE: str(soft).lower(), keys[by_most]: str(number)})
        for place, (count, number, soft, by_most) in enumerate(jobs)
    ]
    conf = configuration(plugin("tdm", ARGUMENTS), actions="evict-victims")
    world = (clock(hour), node("a", 99, labels={ZONE: "day"}), standing, gang(1, cpu=999, name="waits"))
    plan = Case("", *world, binds="", extensions=PROBE_ACTIONS).plan(conf)
    lost = Counter(key.removeprefix("default/job").partition("-")[0] for key in plan.evictions)
    for place, (count, number, soft, by_most) in enumerate(jobs):
        allowed = min(count, number) if by_most else max(count - number, 0)
        assert lost[str(place)] == (0 if is_open("day", hour) or not soft else allowed)
