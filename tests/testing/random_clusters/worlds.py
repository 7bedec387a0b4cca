"""Small random clusters: a few nodes, queues and jobs that interact closely.

Amounts come from short lists, so that nodes tie, gangs barely fit or barely do not, and several pods share a class.
Some amounts are uneven on purpose: their fractions are not exact, and rounding must not decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from stromboli import kube
from tests.testing.random_clusters import objects

GPU, NIC = "nvidia.com/gpu", "example.com/nic"
ZONE, DISK, APP, RANK = "zone", "disk", "app", "rank"
QUEUES = ("default", "silver", "gold", "bronze")
PRIORITIES = ("high", "low")
PRIORITY_CLASSES = (objects.priority_class("high", 100), objects.priority_class("low", -5))
TIMES = (None, "2024-05-01T08:00:00Z", "2024-05-01T09:00:00Z", "2024-05-02T00:00:00Z")
TAINTS = ("team=red:NoSchedule", "dusty:PreferNoSchedule", "old=yes:NoExecute")


@dataclass(frozen=True)
class Traits:
    """What may occur in a cluster."""

    #: One in so many templates has inter-pod rules: affinity, anti-affinity, topology spread; 0 for none.
    pod_rules: int = 5
    sub_groups: bool = True
    #: Pods without a group.
    plain_pods: bool = True
    most_nodes: int = 12
    #: Taints, cordons, few slots, selectors and ports; without them only amounts matter.
    node_rules: bool = True
    #: One in so many queues and jobs has limits, guarantees or minimums.
    policies: int = 4
    #: One in so many members of jobs is placed already.
    experienced: int = 12


EVERYTHING = Traits()


class SmallWorld:
    """The objects of a cluster by kind, each kind in random order."""

    def __init__(
        self,
        nodes: list[kube.KubeNode],
        queues: list[kube.KubeQueue],
        priorities: list[kube.PriorityClass],
        groups: list[kube.PodGroup],
        pods: list[kube.Pod],
    ) -> None:
        self.nodes = nodes
        self.queues = queues
        self.priorities = priorities
        self.groups = groups
        self.pods = pods

    @property
    def objects(self) -> list[kube.KubeObject]:
        return [*self.nodes, *self.queues, *self.priorities, *self.groups, *self.pods]

    def __repr__(self) -> str:
        """Return the objects as on the wire, abbreviated; equal pods refer to one spec."""
        specs: dict[str, str] = {}
        lines = [f"{type(o).kind_name} {o.key} {_wire(o, 'spec', 'status')}" for o in self.objects if not _is_pod(o)]
        for pod in self.pods:
            spec = _wire(msgspec.structs.replace(pod.spec, node_name=None))
            name = specs.setdefault(spec, f"spec-{len(specs)}")
            lines.append(f"Pod {pod.key} {name} on {pod.spec.node_name} {_wire(pod, 'metadata', 'status')}")
        return "\n".join(("SmallWorld", *lines, *(f"{name} {spec}" for spec, name in specs.items())))


def _is_pod(entry: kube.KubeObject) -> bool:
    return isinstance(entry, kube.Pod)


def _wire(entry: msgspec.Struct, *parts: str) -> str:
    plain = msgspec.to_builtins(entry)
    chosen = {part: plain[part] for part in parts if plain.get(part)} if parts else plain
    for name in ("name", "namespace", "uid"):
        chosen.get("metadata", {}).pop(name, None)
    return msgspec.json.encode(chosen).decode()


def chance(draw: st.DrawFn, one_in: int) -> bool:
    """Return True for one in so many; rare choices are shrunk last."""
    return draw(_up_to(one_in)) == one_in


@cache
def _up_to(number: int) -> st.SearchStrategy[int]:
    return st.integers(1, number)


#: Strategies are made once: one that is made during a draw is looked up and validated again in every example.
either = st.booleans()
times = st.sampled_from(TIMES)
zones = st.sampled_from(["x", "y", "z", None])
disks = st.sampled_from(["ssd", "hdd"])
readiness = st.sampled_from([None, None, None, True, False])
roles = st.sampled_from(["", "worker", "master"])
labels_of_pods = st.sampled_from([{}, {APP: "web"}, {APP: "db"}]).map(dict)
group_phases = st.sampled_from(["Pending", "Inqueue", "Inqueue", "Running", ""])
queue_names = st.sampled_from([None, "default", *QUEUES])
priority_names = st.sampled_from([None, *PRIORITIES])


# -- nodes ------------------------------------------------------------------------------------------------------------

cpus = st.sampled_from(["8", "4", "16", "2", "3500m"])
memories = st.sampled_from(["16Gi", "8Gi", "32Gi", "4Gi", "7000Mi"])
#: None means a node that does not report its pod slots.
pod_slots = st.sampled_from(["110", "110", "110", "3", None])
devices = st.sampled_from([None, None, "1", "2", "4"])


def draw_node(draw: st.DrawFn, traits: Traits, name: str) -> kube.KubeNode:
    if not traits.node_rules:
        return objects.node(name, {"cpu": draw(cpus), "memory": draw(memories)})
    offered = {"cpu": draw(cpus), "memory": draw(memories), "pods": draw(pod_slots), GPU: draw(devices)}
    if chance(draw, 4):
        offered[NIC] = draw(devices)
    labels = {ZONE: draw(zones), DISK: draw(disks)}
    labels[objects.HOSTNAME] = None if chance(draw, 8) else name
    return objects.node(
        name,
        {resource: amount for resource, amount in offered.items() if amount},
        labels={key: value for key, value in labels.items() if value},
        taints=[objects.taint(text) for text in TAINTS if chance(draw, 9)],
        unschedulable=chance(draw, 12),
        ready=draw(readiness) if chance(draw, 4) else None,
    )


#: Capacity that (almost) no pod may use: with it no queue exceeds its share before the nodes are full.
RESERVE = objects.node("reserve", {"cpu": "500", "memory": "1000Gi", GPU: "64", NIC: "64"}, unschedulable=True)


# -- queues -----------------------------------------------------------------------------------------------------------

limits = st.fixed_dictionaries({}, optional={"cpu": cpus, "memory": memories, GPU: st.sampled_from(["0", "1", "2"])})


def draw_queue(draw: st.DrawFn, traits: Traits, name: str) -> kube.KubeQueue:
    guarantee = draw(limits) if chance(draw, traits.policies) else None
    return objects.queue(
        name,
        state="Closed" if chance(draw, 10) else "Open",
        created=draw(times),
        weight=draw(_up_to(4)),
        capability=draw(limits) if chance(draw, traits.policies) else None,
        guarantee=None if guarantee is None else kube.Guarantee(resource={**guarantee}),
        priority=draw(st.sampled_from([None, None, 1])),
        parent=draw(st.sampled_from(QUEUES)) if chance(draw, traits.policies) else None,
    )


# -- pods -------------------------------------------------------------------------------------------------------------

requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["1", "500m", "333m", "2", "4"]),
        "memory": st.sampled_from(["1Gi", "700Mi", "2Gi", "4Gi"]),
        GPU: st.sampled_from(["1", "2"]),
        NIC: st.just("1"),
    },
)
#: Half of the pods request cpu and memory only: clusters in which nothing fits prove little.
ordinary_requests = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["1", "500m", "2"]), "memory": st.sampled_from(["1Gi", "2Gi"])}
)
tolerations = st.lists(
    st.sampled_from(
        [
            kube.KubeToleration(key="team", operator="Exists"),
            kube.KubeToleration(key="team", operator="Equal", value="red", effect="NoSchedule"),
            kube.KubeToleration(key="dusty", operator="Exists", effect="PreferNoSchedule"),
            kube.KubeToleration(operator="Exists", effect="NoExecute"),
            kube.KubeToleration(operator="Exists"),
        ]
    ),
    max_size=2,
)
node_clauses = st.builds(
    lambda key, operator, values: kube.KubeRequirement(
        key=key, operator=operator, values=values if operator in ("In", "NotIn") else None
    ),
    st.sampled_from([ZONE, DISK]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(st.sampled_from(["x", "y", "ssd"]), min_size=1, max_size=2, unique=True),
)
node_terms = st.lists(
    st.builds(kube.NodeSelectorTerm, match_expressions=st.lists(node_clauses, min_size=1, max_size=2)),
    min_size=1,
    max_size=2,
)
WEB = kube.KubeLabelSelector(match_labels={APP: "web"})
selectors = st.sampled_from(["web", "db"]).map(lambda app: kube.KubeLabelSelector(match_labels={APP: app}))
pod_terms = st.builds(
    kube.PodAffinityTerm, label_selector=selectors, topology_key=st.sampled_from([ZONE, objects.HOSTNAME])
)
weighted_terms = st.builds(kube.WeightedPodAffinityTerm, weight=st.sampled_from([1, 50]), pod_affinity_term=pod_terms)
spreads = st.builds(
    kube.TopologySpreadConstraint,
    max_skew=st.integers(1, 2),
    topology_key=st.sampled_from([ZONE, objects.HOSTNAME]),
    when_unsatisfiable=st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    label_selector=selectors,
)


def draw_pod_rule(draw: st.DrawFn) -> kube.KubePodAffinity:
    return kube.KubePodAffinity(
        required=draw(st.lists(pod_terms, max_size=1)), preferred=draw(st.lists(weighted_terms, max_size=1))
    )


def draw_template(draw: st.DrawFn, traits: Traits) -> kube.PodSpec:
    """Draw the requests of one class."""
    if not traits.node_rules:
        return objects.template(draw(ordinary_requests))
    wanted = draw(requests if draw(either) else ordinary_requests)
    affinity = kube.Affinity()
    if chance(draw, 6):
        affinity.node_affinity = kube.KubeNodeAffinity(required=kube.NodeSelector(node_selector_terms=draw(node_terms)))
    if traits.pod_rules and chance(draw, traits.pod_rules):
        affinity.pod_affinity = draw_pod_rule(draw) if draw(either) else None
        affinity.pod_anti_affinity = draw_pod_rule(draw) if affinity.pod_affinity is None else None
    return objects.template(
        wanted,
        host_port=draw(st.sampled_from([80, 443])) if chance(draw, 8) else None,
        node_selector={DISK: "ssd"} if chance(draw, 6) else None,
        tolerations=draw(tolerations) if chance(draw, 3) else None,
        affinity=affinity,
        topology_spread_constraints=[draw(spreads)] if traits.pod_rules and chance(draw, traits.pod_rules) else None,
    )


@dataclass(frozen=True)
class Kind:
    """Equal pods."""

    spec: kube.PodSpec
    role: str
    labels: dict[str, str]


def draw_kind(draw: st.DrawFn, traits: Traits) -> Kind:
    labels = draw(labels_of_pods)
    return Kind(draw_template(draw, traits), draw(roles), labels)


#: Uses most of a node, so that others wait for its release.
HEAVY = objects.template({"cpu": "6", "memory": "5Gi"})


def standing(spec: kube.PodSpec, node: str) -> kube.PodSpec:
    """Return the same pod, bound to a node."""
    return kube.PodSpec(
        scheduler_name=spec.scheduler_name, containers=spec.containers, affinity=spec.affinity, node_name=node
    )


def draw_fate(draw: st.DrawFn, spec: kube.PodSpec, names: list[str]) -> tuple[kube.PodSpec, str, bool]:
    """Draw a pod that is placed already: its spec with the node, its phase, and whether it is being deleted.

    The node may not exist any more.
    """
    phase = draw(
        st.sampled_from(["Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown"])
    )
    return standing(spec, draw(st.sampled_from([*names, *names, "gone"]))), phase, draw(either)


def draw_lone_pod(draw: st.DrawFn, traits: Traits, kind: Kind, names: list[str], number: int) -> kube.Pod:
    """Draw a pod without a group: it runs already, or gets its own group."""
    name = f"plain-{number}"
    if traits.plain_pods and draw(either):
        owner = draw(st.sampled_from(["", "set-a", "set-b"]))
        created = draw(times)
        return objects.pod(name, kind.spec, owner=owner, labels=kind.labels, created=created)
    spec, phase, leaving = draw_fate(draw, kind.spec if draw(either) else HEAVY, names)
    spec.scheduler_name = draw(st.sampled_from(["stromboli", "default-scheduler"]))
    return objects.pod(name, spec, phase=phase, leaving=leaving, labels=kind.labels)


# -- jobs -------------------------------------------------------------------------------------------------------------


def draw_member(
    draw: st.DrawFn, traits: Traits, job: str, place: int, kind: Kind, names: list[str], is_gated: bool
) -> kube.Pod:
    name = f"{job}-{kind.role or 'task'}-{place}"
    labels = {**kind.labels, RANK: str(place % 2)}
    created = draw(times) if chance(draw, 6) else None
    if chance(draw, traits.experienced):
        spec, phase, leaving = draw_fate(draw, kind.spec, names)
        return objects.pod(name, spec, group=job, role=kind.role, labels=labels, phase=phase, leaving=leaving)
    spec, nominated = kind.spec, None
    if chance(draw, 20):
        nominated = draw(st.sampled_from(names))
    if is_gated or chance(draw, 40):
        gates = [kube.SchedulingGate(name="quota")]
        spec = kube.PodSpec(scheduler_name="stromboli", containers=spec.containers, scheduling_gates=gates)
    return objects.pod(name, spec, group=job, role=kind.role, labels=labels, created=created, nominated=nominated)


def draw_job(
    draw: st.DrawFn, traits: Traits, name: str, pool: list[Kind], names: list[str]
) -> tuple[kube.PodGroup, list[kube.Pod]]:
    """Draw a PodGroup with up to eight pods of one or two kinds."""
    size = draw(_up_to(8))
    alike = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=2))
    is_gated = chance(draw, 15)
    pods = [draw_member(draw, traits, name, place, alike[place % len(alike)], names, is_gated) for place in range(size)]
    roles = {kind.role for kind in alike if kind.role}
    policies = None
    if traits.sub_groups and chance(draw, 6):
        policies = [kube.KubeSubGroupPolicy(name="half", match_label_keys=[RANK], sub_group_size=draw(_up_to(3)))]
    minimums = {role: draw(_up_to(3)) for role in sorted(roles)} if chance(draw, traits.policies) else None
    capacity = requests if traits.node_rules else ordinary_requests
    group = objects.group(
        name,
        phase=draw(group_phases),
        created=draw(times),
        min_member=draw(st.one_of(st.just(size), st.integers(0, size))),
        min_task_member=minimums,
        min_resources=draw(capacity) if chance(draw, traits.policies) else None,
        queue=draw(queue_names),
        priority_class_name=draw(priority_names),
        sub_group_policy=policies,
    )
    return group, pods


# -- worlds -----------------------------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn, traits: Traits = EVERYTHING) -> SmallWorld:
    names = [f"node-{number:02}" for number in range(draw(_up_to(traits.most_nodes)))]
    pool = [draw_kind(draw, traits) for _ in range(draw(_up_to(4)))]  # jobs share them, and so their classes
    lines = [draw_job(draw, traits, f"job-{number}", pool, names) for number in range(draw(_up_to(6)))]
    lone = [draw_lone_pod(draw, traits, draw(st.sampled_from(pool)), names, n) for n in range(draw(st.integers(0, 6)))]
    reserve = [RESERVE] if draw(either) else []
    return SmallWorld(
        nodes=[*(draw_node(draw, traits, name) for name in names), *reserve],
        queues=[draw_queue(draw, traits, name) for name in QUEUES[1:]],
        priorities=list(PRIORITY_CLASSES),
        groups=[group for group, _ in lines],
        pods=[*lone, *(pod for _, pods in lines for pod in pods)],
    )


def draw_seeker(draw: st.DrawFn) -> Kind:
    """Draw pods that must be near web servers, or where there are few of them."""
    term = kube.PodAffinityTerm(label_selector=WEB, topology_key=draw(st.sampled_from([ZONE, objects.HOSTNAME])))
    affinity = kube.Affinity(pod_affinity=kube.KubePodAffinity(required=[term]))
    spread = kube.TopologySpreadConstraint(max_skew=1, topology_key=ZONE, label_selector=WEB)
    choices: list[dict[str, Any]] = [{"affinity": affinity}, {"topology_spread_constraints": [spread]}]
    constraints = draw(st.sampled_from(choices))
    return Kind(objects.template({"cpu": "1"}, **constraints), "", draw(st.sampled_from([{}, {}, {APP: "web"}])))


@st.composite
def social_worlds(draw: st.DrawFn) -> SmallWorld:
    """Draw enough capacity, and small jobs with inter-pod rules only: a refused pod may be accepted as soon as another
    is placed.
    """
    pool = [Kind(objects.template({"cpu": "1"}), "", {APP: "web"}), draw_seeker(draw)]
    groups, pods = [], []
    for number in range(draw(st.integers(3, 6))):
        kind, size = draw(st.sampled_from(pool)), draw(_up_to(2))
        name, priority = f"job-{number}", draw(priority_names)
        groups.append(objects.group(name, min_member=size, priority_class_name=priority))
        pods += [objects.pod(f"{name}-{n}", kind.spec, group=name, labels=kind.labels) for n in range(size)]
    names = {"x1": "x", "x2": "x", "y1": "y"}
    nodes = [
        objects.node(name, {"cpu": "32"}, labels={ZONE: zone, objects.HOSTNAME: name}) for name, zone in names.items()
    ]
    return SmallWorld(nodes, [], list(PRIORITY_CLASSES), groups, pods)


TIGHT_REQUESTS = st.sampled_from([{"cpu": "1"}, {"cpu": "2"}, {"cpu": "3"}, {}])


def draw_gang(draw: st.DrawFn, name: str) -> tuple[kube.PodGroup, list[kube.Pod]]:
    """Draw a job of workers and masters with a minimum in total and per role."""
    roles = draw(st.sampled_from([("worker",), ("worker", "master"), ("worker", "worker", "master")]))
    specs = {role: objects.template(draw(TIGHT_REQUESTS)) for role in sorted(set(roles))}
    members = [roles[place % len(roles)] for place in range(draw(_up_to(6)))]
    minimums = {role: draw(st.integers(0, members.count(role))) for role in specs} if draw(either) else {}
    group = objects.group(
        name,
        phase="Inqueue",
        min_member=draw(st.integers(max(1, sum(minimums.values())), len(members))),
        min_task_member=minimums or None,
        priority_class_name=draw(priority_names),
    )
    pods = [
        objects.pod(f"{name}-{role}-{place}", specs[role], group=name, role=role) for place, role in enumerate(members)
    ]
    return group, pods


@st.composite
def tight_worlds(draw: st.DrawFn) -> SmallWorld:
    """Draw too little capacity for several gangs, some of it releasing: the outcome depends on order alone."""
    nodes = [objects.node(name, {"cpu": draw(st.sampled_from(["4", "6"]))}) for name in ("a", "b")]
    lines = [draw_gang(draw, f"gang-{number}") for number in range(draw(_up_to(4)))]
    leaving = []
    for number in range(draw(st.integers(0, 4))):
        spec = standing(objects.template(draw(TIGHT_REQUESTS)), draw(st.sampled_from("ab")))
        leaving.append(objects.pod(f"leaving-{number}", spec, phase="Running", leaving=True))
    groups, members = [group for group, _ in lines], [pod for _, pods in lines for pod in pods]
    return SmallWorld([*nodes, RESERVE], [], list(PRIORITY_CLASSES), groups, [*leaving, *members])
