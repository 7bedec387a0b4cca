"""Small random worlds: a few nodes, queues and jobs, with every kind of trouble at close quarters.

Amounts come from short lists, so that nodes tie, gangs just fit or just do not, and several pods are of one
class. Some amounts are odd on purpose: their fractions are not exact, and rounding must not decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from hypothesis import strategies as st

from stromboli import kube
from tests.properties import objects

GPU, NIC = "nvidia.com/gpu", "example.com/nic"
ZONE, DISK, APP, RANK = "zone", "disk", "app", "rank"
QUEUES = ("default", "silver", "gold", "bronze")
PRIORITIES = ("high", "low")
TIMES = (None, "2024-05-01T08:00:00Z", "2024-05-01T09:00:00Z", "2024-05-02T00:00:00Z")
TAINTS = ("team=red:NoSchedule", "dusty:PreferNoSchedule", "old=yes:NoExecute")


@dataclass(frozen=True)
class Traits:
    """What may occur in a world."""

    #: One in so many templates has rules about other pods: affinity, anti-affinity, spreading; 0 for none.
    pod_rules: int = 5
    sub_groups: bool = True
    #: Pods that name no group.
    plain_pods: bool = True
    most_nodes: int = 12


EVERYTHING = Traits()


@dataclass(frozen=True)
class SmallWorld:
    """The objects of a world by kind, each kind in no particular order."""

    nodes: list[kube.Node]
    queues: list[kube.Queue]
    priorities: list[kube.PriorityClass]
    groups: list[kube.PodGroup]
    pods: list[kube.Pod]

    @property
    def objects(self) -> list[kube.KubeObject]:
        return [*self.nodes, *self.queues, *self.priorities, *self.groups, *self.pods]

    def __repr__(self) -> str:
        """The objects as they would be on the wire, without what is not said."""
        lines = (f"{type(entry).__name__} {msgspec.json.encode(entry).decode()}" for entry in self.objects)
        return "\n".join(("SmallWorld", *lines))


def chance(draw: st.DrawFn, one_in: int) -> bool:
    """True for one in so many; what is rare is what an example is reduced to last."""
    return draw(st.integers(1, one_in)) == one_in


# -- nodes ------------------------------------------------------------------------------------------------------------

cpus = st.sampled_from(["8", "4", "16", "2", "3500m"])
memories = st.sampled_from(["16Gi", "8Gi", "32Gi", "4Gi", "7000Mi"])
#: None stands for a node that does not say how many pods it takes.
pod_slots = st.sampled_from(["110", "110", "110", "3", None])
devices = st.sampled_from([None, None, "1", "2", "4"])


@st.composite
def nodes(draw: st.DrawFn, name: str) -> kube.Node:
    offered = {"cpu": draw(cpus), "memory": draw(memories), "pods": draw(pod_slots), GPU: draw(devices)}
    if chance(draw, 4):
        offered[NIC] = draw(devices)
    labels = {ZONE: draw(st.sampled_from(["x", "y", "z", None])), DISK: draw(st.sampled_from(["ssd", "hdd"]))}
    labels[objects.HOSTNAME] = None if chance(draw, 8) else name
    return objects.node(
        name,
        {resource: amount for resource, amount in offered.items() if amount},
        labels={key: value for key, value in labels.items() if value},
        taints=[objects.taint(text) for text in TAINTS if chance(draw, 9)],
        unschedulable=chance(draw, 12),
        ready=draw(st.sampled_from([None, None, None, True, False])) if chance(draw, 4) else None,
    )


# -- queues -----------------------------------------------------------------------------------------------------------

limits = st.fixed_dictionaries({}, optional={"cpu": cpus, "memory": memories, GPU: st.sampled_from(["0", "1", "2"])})


@st.composite
def queues(draw: st.DrawFn, name: str) -> kube.Queue:
    guarantee = draw(limits) if chance(draw, 5) else None
    return objects.queue(
        name,
        state="Closed" if chance(draw, 10) else "Open",
        created=draw(st.sampled_from(TIMES)),
        weight=draw(st.integers(1, 4)),
        capability=draw(limits) if chance(draw, 4) else None,
        guarantee=None if guarantee is None else kube.Guarantee(resource=guarantee),
        priority=draw(st.sampled_from([None, None, 1])),
        parent=draw(st.sampled_from(QUEUES)) if chance(draw, 4) else None,
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
#: Half of the pods ask for cpu and memory and nothing else: worlds in which nobody fits prove little.
ordinary_requests = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["1", "500m", "2"]), "memory": st.sampled_from(["1Gi", "2Gi"])}
)
tolerations = st.lists(
    st.sampled_from(
        [
            kube.Toleration(key="team", operator="Exists"),
            kube.Toleration(key="team", operator="Equal", value="red", effect="NoSchedule"),
            kube.Toleration(key="dusty", operator="Exists", effect="PreferNoSchedule"),
            kube.Toleration(operator="Exists", effect="NoExecute"),
            kube.Toleration(operator="Exists"),
        ]
    ),
    max_size=2,
)
node_clauses = st.builds(
    lambda key, operator, values: kube.Requirement(
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
selectors = st.sampled_from(["web", "db"]).map(lambda app: kube.LabelSelector(match_labels={APP: app}))
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


@st.composite
def pod_rules(draw: st.DrawFn) -> kube.PodAffinity:
    return kube.PodAffinity(
        required=draw(st.lists(pod_terms, max_size=1)), preferred=draw(st.lists(weighted_terms, max_size=1))
    )


@st.composite
def templates(draw: st.DrawFn, traits: Traits) -> kube.PodSpec:
    """What the pods of one class ask for."""
    wanted = draw(requests if draw(st.booleans()) else ordinary_requests)
    affinity = kube.Affinity()
    if chance(draw, 6):
        affinity.node_affinity = kube.NodeAffinity(required=kube.NodeSelector(node_selector_terms=draw(node_terms)))
    if traits.pod_rules and chance(draw, traits.pod_rules):
        affinity.pod_affinity = draw(pod_rules()) if draw(st.booleans()) else None
        affinity.pod_anti_affinity = draw(pod_rules()) if affinity.pod_affinity is None else None
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
    """Pods that are alike."""

    spec: kube.PodSpec
    role: str
    labels: dict[str, str]


@st.composite
def kinds(draw: st.DrawFn, traits: Traits) -> Kind:
    labels = draw(st.sampled_from([{}, {APP: "web"}, {APP: "db"}]))
    return Kind(draw(templates(traits)), draw(st.sampled_from(["", "worker", "master"])), labels)


#: Takes most of a node, so that others have to wait for it to leave.
HEAVY = objects.template({"cpu": "6", "memory": "5Gi"})


def standing(spec: kube.PodSpec, node: str) -> kube.PodSpec:
    """The same pod, bound to a node."""
    return kube.PodSpec(
        scheduler_name=spec.scheduler_name, containers=spec.containers, affinity=spec.affinity, node_name=node
    )


@st.composite
def fates(draw: st.DrawFn, spec: kube.PodSpec, names: list[str]) -> tuple[kube.PodSpec, str, bool]:
    """A pod that has been placed before: its spec with the node, its phase, and whether it is being removed."""
    phase = draw(
        st.sampled_from(["Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown"])
    )
    return standing(spec, draw(st.sampled_from(names))), phase, draw(st.booleans())


@st.composite
def lone_pods(draw: st.DrawFn, traits: Traits, kind: Kind, names: list[str], number: int) -> kube.Pod:
    """A pod that names no group: it runs already, or one is made for it."""
    name = f"plain-{number}"
    if traits.plain_pods and draw(st.booleans()):
        owner = draw(st.sampled_from(["", "set-a", "set-b"]))
        created = draw(st.sampled_from(TIMES))
        return objects.pod(name, kind.spec, owner=owner, labels=kind.labels, created=created)
    spec, phase, leaving = draw(fates(kind.spec if draw(st.booleans()) else HEAVY, names))
    spec.scheduler_name = draw(st.sampled_from(["stromboli", "default-scheduler"]))
    return objects.pod(name, spec, phase=phase, leaving=leaving, labels=kind.labels)


# -- jobs -------------------------------------------------------------------------------------------------------------


@st.composite
def members(draw: st.DrawFn, job: str, place: int, kind: Kind, names: list[str]) -> kube.Pod:
    name = f"{job}-{kind.role or 'task'}-{place}"
    labels = {**kind.labels, RANK: str(place % 2)}
    created = draw(st.sampled_from(TIMES)) if chance(draw, 6) else None
    if chance(draw, 10):
        spec, phase, leaving = draw(fates(kind.spec, names))
        return objects.pod(name, spec, group=job, role=kind.role, labels=labels, phase=phase, leaving=leaving)
    spec, nominated = kind.spec, None
    if chance(draw, 20):
        nominated = draw(st.sampled_from(names))
    if chance(draw, 40):
        spec = kube.PodSpec(
            scheduler_name="stromboli",
            containers=spec.containers,
            scheduling_gates=[kube.SchedulingGate(name="quota")],
        )
    return objects.pod(name, spec, group=job, role=kind.role, labels=labels, created=created, nominated=nominated)


@st.composite
def jobs(
    draw: st.DrawFn, traits: Traits, name: str, pool: list[Kind], names: list[str]
) -> tuple[kube.PodGroup, list[kube.Pod]]:
    """A PodGroup with up to eight pods of one or two kinds."""
    size = draw(st.integers(1, 8))
    alike = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=2))
    pods = [draw(members(name, place, alike[place % len(alike)], names)) for place in range(size)]
    roles = {kind.role for kind in alike if kind.role}
    policies = None
    if traits.sub_groups and chance(draw, 6):
        policies = [kube.SubGroupPolicy(name="half", match_label_keys=[RANK], sub_group_size=draw(st.integers(1, 3)))]
    minimums = {role: draw(st.integers(1, 3)) for role in sorted(roles)} if chance(draw, 4) else None
    group = objects.group(
        name,
        phase=draw(st.sampled_from(["Pending", "Inqueue", "Inqueue", "Running", ""])),
        created=draw(st.sampled_from(TIMES)),
        min_member=draw(st.one_of(st.just(size), st.integers(0, size))),
        min_task_member=minimums,
        min_resources=draw(requests) if chance(draw, 4) else None,
        queue=draw(st.sampled_from([None, "default", *QUEUES])),
        priority_class_name=draw(st.sampled_from([None, *PRIORITIES])),
        sub_group_policy=policies,
    )
    return group, pods


# -- worlds -----------------------------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn, traits: Traits = EVERYTHING) -> SmallWorld:
    names = [f"node-{number:02}" for number in range(draw(st.integers(1, traits.most_nodes)))]
    pool = [draw(kinds(traits)) for _ in range(draw(st.integers(1, 4)))]  # jobs share them, and so their classes
    lines = [draw(jobs(traits, f"job-{number}", pool, names)) for number in range(draw(st.integers(1, 6)))]
    lone = [
        draw(lone_pods(traits, draw(st.sampled_from(pool)), names, number)) for number in range(draw(st.integers(0, 6)))
    ]
    return SmallWorld(
        nodes=[draw(nodes(name)) for name in names],
        queues=[draw(queues(name)) for name in QUEUES[1:]],
        priorities=[objects.priority_class("high", 100), objects.priority_class("low", -5)],
        groups=[group for group, _ in lines],
        pods=[*lone, *(pod for _, pods in lines for pod in pods)],
    )
