"""Random small worlds for rules that look at other pods."""

from __future__ import annotations

from hypothesis import strategies as st

from stromboli.core.model.tasks.task_class import Toleration
from tests.unit.core.plugins.rule_cluster import Kind, Machine, World, kind, machine, near, spread, taint

APPS = ("app=a", "app=b", "app=a tier=x")
SELECTORS = ("app=a", "app=b", "tier=x")
KEYS = ("zone", "rack", "kubernetes.io/hostname")

terms = st.builds(near, st.sampled_from(SELECTORS), st.sampled_from(KEYS))
weights = st.integers(-3, 3).filter(bool)
some_terms = st.lists(terms, max_size=2).map(tuple)
preferences = st.lists(st.tuples(weights, terms), max_size=2, unique=True).map(tuple)
constraints = st.builds(
    spread,
    st.sampled_from(SELECTORS),
    st.sampled_from(KEYS),
    max_skew=st.integers(1, 2),
    hard=st.booleans(),
    min_domains=st.integers(1, 3),
    honor_node_affinity=st.booleans(),
    honor_node_taints=st.booleans(),
)


@st.composite
def affinities(draw: st.DrawFn) -> tuple[object, ...]:
    """Terms about the same pods under different labels, which is where one tally per term is all there is to know."""
    selector = draw(st.sampled_from(SELECTORS))
    return tuple(near(selector, key) for key in draw(st.lists(st.sampled_from(KEYS), max_size=2)))


@st.composite
def kinds(draw: st.DrawFn) -> Kind:
    return kind(
        draw(st.sampled_from(APPS)),
        affinity=draw(affinities()),
        anti_affinity=draw(some_terms),
        preferred_affinity=draw(preferences),
        spread=draw(st.lists(constraints, max_size=2)),
        node_selector=draw(st.sampled_from([(), (("disk", "ssd"),)])),
        tolerations=draw(st.sampled_from([(), (Toleration("team", "Exists"),)])),
    )


@st.composite
def machines(draw: st.DrawFn, name: str) -> Machine:
    labels = {
        key: value
        for key, values in (("zone", "xyz"), ("rack", "12"), ("disk", ("ssd", "hdd")))
        if (value := draw(st.sampled_from([None, *values])))
    }
    if draw(st.integers(0, 4)):
        labels["kubernetes.io/hostname"] = name
    taints = draw(st.sampled_from([(), (taint("team=red:NoSchedule"),), (taint("dusty:PreferNoSchedule"),)]))
    return machine(name, labels=labels, taints=taints)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A few nodes and kinds, and pods wherever: rules must cope with worlds that they would not have made."""
    names = "abcdef"[: draw(st.integers(1, 6))]
    all_kinds = draw(st.lists(kinds(), min_size=1, max_size=3))
    placed = draw(st.lists(st.tuples(st.sampled_from(all_kinds), st.sampled_from(names)), max_size=8))
    return World([draw(machines(name)) for name in names], all_kinds, placed)
