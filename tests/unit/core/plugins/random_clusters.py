"""Random small worlds for rules that look at other pods."""

from __future__ import annotations

from hypothesis import strategies as st

from stromboli.core.model.nodes.table import Taint
from stromboli.core.model.tasks.task_class import Toleration
from tests.unit.core.plugins.rule_cluster import Machine, World, kind, machine, near, spread, taint

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


#: Terms about the same pods under different labels, which is where one tally per term is all there is to know.
affinities = st.builds(
    lambda selector, keys: tuple(near(selector, key) for key in keys),
    st.sampled_from(SELECTORS),
    st.lists(st.sampled_from(KEYS), max_size=2),
)
kinds = st.lists(
    st.builds(
        kind,
        st.sampled_from(APPS),
        affinity=affinities,
        anti_affinity=some_terms,
        preferred_affinity=preferences,
        spread=st.lists(constraints, max_size=2),
        node_selector=st.sampled_from([(), (("disk", "ssd"),)]),
        tolerations=st.sampled_from([(), (Toleration("team", "Exists"),)]),
    ),
    min_size=1,
    max_size=3,
)
labels = {
    "zone": st.sampled_from([None, *"xyz"]),
    "rack": st.sampled_from([None, *"12"]),
    "disk": st.sampled_from([None, "ssd", "hdd"]),
    "kubernetes.io/hostname": st.sampled_from([None, *[True] * 4]),
}
taints = st.sampled_from([(), (taint("team=red:NoSchedule"),), (taint("dusty:PreferNoSchedule"),)])
machine_facts = st.lists(st.tuples(st.fixed_dictionaries(labels), taints), min_size=1, max_size=6)
#: A kind and a node by number, modulo those that there are.
places = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 59)), max_size=8)


def _machine(name: str, labels: dict[str, str | bool | None], taints: tuple[Taint, ...]) -> Machine:
    present = {key: name if value is True else value for key, value in labels.items() if value}
    return machine(name, labels=present, taints=taints)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A few nodes and kinds, and pods wherever: rules must cope with worlds that they would not have made."""
    machines = [_machine(name, *facts) for name, facts in zip("abcdef", draw(machine_facts), strict=False)]
    all_kinds = draw(kinds)
    placed = [(all_kinds[each % len(all_kinds)], "abcdef"[node % len(machines)]) for each, node in draw(places)]
    return World(machines, all_kinds, placed)
