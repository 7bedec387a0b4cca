"""Affinity, tolerations, topology spread and host ports of a pod, converted from the wire to the model.

A selector that Kubernetes would reject is an error that names its field; the job waits with that reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stromboli import kube
from stromboli.core.model.tasks.host_ports import NO_PORTS, HostPort, PortSet
from stromboli.core.model.tasks.pod_terms import OwnedTerm, PodTerm, TermRegistry
from stromboli.core.model.tasks.selectors import NOTHING, LabelSelector, NodeTerm, Requirement
from stromboli.core.model.tasks.task_class import AffinityTerm, SpreadConstraint, Toleration
from stromboli.kube.objects.constraints import NodeSelectorTerm, PodAffinityTerm, TopologySpreadConstraint
from stromboli.kube.objects.meta import KubeLabelSelector as WireSelector
from stromboli.kube.objects.meta import KubeRequirement as WireRequirement

#: Maximum number of selector clauses in one pod: more would slow down scheduling for all pods.
MAX_REQUIREMENTS = 1000
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TOLERATION_OPERATORS = ("Equal", "Exists", "Lt", "Gt")

Namespaces = Mapping[str, Mapping[str, str]]


class ConstraintError(ValueError):
    """A constraint that Kubernetes would reject; the message begins with the field."""


@dataclass(frozen=True, slots=True)
class PodConstraints:
    """All node and pod constraints of a pod, hashable so that they can be part of a task class."""

    node_selector: tuple[tuple[str, str], ...]
    required_node_terms: tuple[NodeTerm, ...] | None
    preferred_node_terms: tuple[tuple[int, NodeTerm], ...]
    tolerations: tuple[Toleration, ...]
    ports: PortSet
    affinity: tuple[AffinityTerm, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    preferred_affinity: tuple[tuple[int, AffinityTerm], ...]
    spread: tuple[SpreadConstraint, ...]
    matches_own_affinity: bool

    @property
    def ask_about_labels(self) -> bool:
        """Report whether the constraints may depend on the pod's own labels."""
        return bool(self.affinity or self.anti_affinity or self.preferred_affinity or self.spread)

    def register(self, terms: TermRegistry) -> None:
        """Register every term of these constraints, so that matching pods are counted."""
        for affinity in (*self.affinity, *self.anti_affinity, *(term for _, term in self.preferred_affinity)):
            terms.number(affinity.term)
        for constraint in self.spread:
            terms.number(constraint.term)
        for owned in self.owned():
            terms.number(owned)
        if self.ports:
            terms.number(self.ports)

    def owned(self) -> Iterable[OwnedTerm]:
        """Terms that the pod, once placed, imposes on its neighbours."""
        for term in self.anti_affinity:
            yield OwnedTerm(term.term, term.topology_key, 0)
        for weight, term in self.preferred_affinity:
            yield OwnedTerm(term.term, term.topology_key, weight)


def asks_about_namespaces(pod: kube.Pod) -> bool:
    """Report whether the constraints depend on namespace labels."""
    affinity = pod.spec.affinity
    if affinity is None:
        return False
    sides = [side for side in (affinity.pod_affinity, affinity.pod_anti_affinity) if side is not None]
    preferences = [preference.pod_affinity_term for side in sides for preference in side.preferred or ()]
    terms = [
        *(term for side in sides for term in side.required or ()),
        *(preference for preference in preferences if preference is not None),
    ]
    return any(term.namespace_selector is not None for term in terms)


def constraints_of(pod: kube.Pod, namespaces: Namespaces) -> PodConstraints:
    return _Reader(pod, namespaces).read()


class _Reader:
    def __init__(self, pod: kube.Pod, namespaces: Namespaces) -> None:
        self._spec = pod.spec
        self._namespace = pod.metadata.namespace
        self._labels = pod.metadata.labels or {}
        self._namespaces = namespaces
        self._requirements = 0

    def read(self) -> PodConstraints:
        required, preferred_nodes = self._node_affinity()
        affinity, preferred = self._pod_affinity("podAffinity", 1)
        anti_affinity, avoided = self._pod_affinity("podAntiAffinity", -1)
        return PodConstraints(
            node_selector=tuple(sorted((self._spec.node_selector or {}).items())),
            required_node_terms=required,
            preferred_node_terms=preferred_nodes,
            tolerations=self._tolerations(),
            ports=self._ports(),
            affinity=_jointly(affinity),
            anti_affinity=anti_affinity,
            preferred_affinity=(*preferred, *avoided),
            spread=self._spread(),
            matches_own_affinity=all(t.term.matches(self._namespace, self._labels) for t in affinity),
        )

    # -- nodes --------------------------------------------------------------------------------------------------

    def _node_affinity(self) -> tuple[tuple[NodeTerm, ...] | None, tuple[tuple[int, NodeTerm], ...]]:
        affinity = self._spec.affinity.node_affinity if self._spec.affinity else None
        if affinity is None:
            return None, ()
        required = None
        if affinity.required is not None:
            terms = affinity.required.node_selector_terms or ()
            required = tuple(self._node_term(term, f"required[{i}]") for i, term in enumerate(terms))
        preferred = tuple(
            (
                weight_of(entry.weight, f"spec.affinity.nodeAffinity.preferred[{i}]"),
                self._node_term(entry.preference, f"preferred[{i}]"),
            )
            for i, entry in enumerate(affinity.preferred or ())
            if entry.preference is not None
        )
        return required, preferred

    def _node_term(self, term: NodeSelectorTerm, where: str) -> NodeTerm:
        field = f"spec.affinity.nodeAffinity.{where}"
        return NodeTerm(
            self._requirements_of(term.match_expressions, f"{field}.matchExpressions", numbers=True),
            self._requirements_of(term.match_fields, f"{field}.matchFields", numbers=True),
        )

    def _tolerations(self) -> tuple[Toleration, ...]:
        wire = self._spec.tolerations or ()
        for i, entry in enumerate(wire):
            check_choice(entry.operator, TOLERATION_OPERATORS, f"spec.tolerations[{i}].operator")
            check_choice(entry.effect, TAINT_EFFECTS, f"spec.tolerations[{i}].effect")
        return tuple(Toleration(t.key or "", t.operator or "Equal", t.value or "", t.effect or "") for t in wire)

    def _ports(self) -> PortSet:
        containers = [*(self._spec.containers or ()), *(self._spec.init_containers or ())]
        host = bool(self._spec.host_network)
        ports = [
            HostPort(port.protocol or "TCP", number, port.host_ip or "0.0.0.0")  # noqa: S104 - no socket is opened
            for container in containers
            for port in container.ports or ()
            if (number := port.host_port or (port.container_port if host else None))
        ]
        return PortSet(ports) if ports else NO_PORTS

    # -- other pods ---------------------------------------------------------------------------------------------

    def _pod_affinity(
        self, kind: str, sign: int
    ) -> tuple[tuple[AffinityTerm, ...], tuple[tuple[int, AffinityTerm], ...]]:
        whole = self._spec.affinity
        affinity = None if whole is None else whole.pod_affinity if sign > 0 else whole.pod_anti_affinity
        if affinity is None:
            return (), ()
        field = f"spec.affinity.{kind}"
        required = tuple(
            self._affinity_term(term, f"{field}.required[{i}]") for i, term in enumerate(affinity.required or ())
        )
        preferred = tuple(
            (
                sign * weight_of(entry.weight, f"{field}.preferred[{i}]"),
                self._affinity_term(entry.pod_affinity_term, f"{field}.preferred[{i}]"),
            )
            for i, entry in enumerate(affinity.preferred or ())
            if entry.pod_affinity_term is not None and entry.weight
        )
        return required, preferred

    def _affinity_term(self, term: PodAffinityTerm, field: str) -> AffinityTerm:
        if not term.topology_key:
            raise ConstraintError(f"{field}.topologyKey: is missing; name a node label")
        selector = self._selector(term.label_selector, field)
        selector = self._with_own_labels(selector, term.match_label_keys, "In")
        selector = self._with_own_labels(selector, term.mismatch_label_keys, "NotIn")
        return AffinityTerm(PodTerm(selector, self._term_namespaces(term, field)), term.topology_key)

    def _term_namespaces(self, term: PodAffinityTerm, field: str) -> frozenset[str] | None:
        if term.namespace_selector is None:
            return frozenset(term.namespaces or (self._namespace,))
        selector = self._selector(term.namespace_selector, f"{field}.namespaceSelector")
        if not selector.requirements:
            return None
        chosen = (name for name, labels in self._namespaces.items() if selector.matches(labels))
        return frozenset((*chosen, *(term.namespaces or ())))

    def _spread(self) -> tuple[SpreadConstraint, ...]:
        return tuple(
            self._spread_constraint(constraint, f"spec.topologySpreadConstraints[{i}]")
            for i, constraint in enumerate(self._spec.topology_spread_constraints or ())
        )

    def _spread_constraint(self, wire: TopologySpreadConstraint, field: str) -> SpreadConstraint:
        if not wire.topology_key:
            raise ConstraintError(f"{field}.topologyKey: is missing; name a node label")
        if wire.max_skew is not None and wire.max_skew < 1:
            raise ConstraintError(f"{field}.maxSkew: must be at least 1, got {wire.max_skew}")
        _check_values(wire, field)
        selector = self._with_own_labels(self._selector(wire.label_selector, field), wire.match_label_keys, "In")
        term = PodTerm(selector, frozenset((self._namespace,)))
        return SpreadConstraint(
            term=term,
            topology_key=wire.topology_key,
            max_skew=wire.max_skew or 1,
            hard=wire.when_unsatisfiable != "ScheduleAnyway",
            min_domains=wire.min_domains or 1,
            honor_node_affinity=wire.node_affinity_policy != "Ignore",
            honor_node_taints=wire.node_taints_policy == "Honor",
            matches_itself=selector.matches(self._labels),
        )

    # -- selectors ----------------------------------------------------------------------------------------------

    def _with_own_labels(self, selector: LabelSelector, keys: Sequence[str] | None, operator: str) -> LabelSelector:
        """The selector, narrowed by the pod's own values of the matchLabelKeys."""
        own = tuple(
            Requirement(key, operator, (self._labels[key],)) for key in sorted(keys or ()) if key in self._labels
        )
        return LabelSelector(tuple(sorted((*selector.requirements, *own), key=repr))) if own else selector

    def _selector(self, wire: WireSelector | None, field: str) -> LabelSelector:
        if wire is None:
            return NOTHING
        return selector_of(wire, field, self._count)

    def _requirements_of(
        self, wire: Sequence[WireRequirement] | None, field: str, *, numbers: bool = False
    ) -> tuple[Requirement, ...]:
        self._count(len(wire or ()), field)
        return tuple(requirement_of(entry, f"{field}[{i}]", numbers=numbers) for i, entry in enumerate(wire or ()))

    def _count(self, more: int, field: str) -> None:
        self._requirements += more
        if self._requirements > MAX_REQUIREMENTS:
            raise ConstraintError(f"{field}: more than {MAX_REQUIREMENTS} selector clauses in one pod; use fewer")


def check_choice(value: str | None, allowed: Sequence[str], field: str) -> None:
    """Reject any value that Kubernetes would reject: reading it as the default would plan something else than was
    written.
    """
    if value and value not in allowed:
        raise ConstraintError(f"{field}: {value!r} is not one of {', '.join(allowed)}")


def _check_values(wire: TopologySpreadConstraint, field: str) -> None:
    check_choice(wire.when_unsatisfiable, ("DoNotSchedule", "ScheduleAnyway"), f"{field}.whenUnsatisfiable")
    check_choice(wire.node_affinity_policy, ("Honor", "Ignore"), f"{field}.nodeAffinityPolicy")
    check_choice(wire.node_taints_policy, ("Honor", "Ignore"), f"{field}.nodeTaintsPolicy")
    if wire.min_domains is not None and wire.min_domains < 1:
        raise ConstraintError(f"{field}.minDomains: must be at least 1, got {wire.min_domains}")


def _jointly(terms: tuple[AffinityTerm, ...]) -> tuple[AffinityTerm, ...]:
    """Required affinity matches pods that satisfy all terms at once, each within its own topology key."""
    if len(terms) < 2:
        return terms
    clauses = {clause for entry in terms for clause in entry.term.selector.requirements}
    limited = [entry.term.namespaces for entry in terms if entry.term.namespaces is not None]
    namespaces = frozenset.intersection(*limited) if limited else None
    joint = PodTerm(LabelSelector(tuple(sorted(clauses, key=repr))), namespaces)
    return tuple(AffinityTerm(joint, entry.topology_key) for entry in terms)


def weight_of(weight: int | None, field: str) -> int:
    """The weight of a preference: Kubernetes allows 1 to 100; 0 means no preference."""
    if weight is not None and not 0 <= weight <= 100:
        raise ConstraintError(f"{field}.weight: must be between 1 and 100, got {weight}")
    return weight or 0


def selector_of(wire: WireSelector, field: str, count: object = None) -> LabelSelector:
    """A label selector of the model; its clauses are sorted, so that equal selectors compare equal."""
    clauses = [Requirement(key, "In", (value,)) for key, value in (wire.match_labels or {}).items()]
    clauses += [
        requirement_of(entry, f"{field}.matchExpressions[{i}]") for i, entry in enumerate(wire.match_expressions or ())
    ]
    if callable(count):
        count(len(clauses), field)
    return LabelSelector(tuple(sorted(clauses, key=repr)))


def requirement_of(wire: WireRequirement, field: str, *, numbers: bool = False) -> Requirement:
    allowed = ("In", "NotIn", "Exists", "DoesNotExist", *(("Gt", "Lt") if numbers else ()))
    if not wire.key:
        raise ConstraintError(f"{field}.key: is empty; name a label")
    if wire.operator not in allowed:
        raise ConstraintError(f"{field}.operator: {wire.operator!r} is not one of {', '.join(allowed)}")
    if wire.operator in ("In", "NotIn") and not wire.values:
        raise ConstraintError(f"{field}.values: {wire.operator} needs at least one value")
    return Requirement(wire.key, str(wire.operator), tuple(sorted(wire.values or ())))
