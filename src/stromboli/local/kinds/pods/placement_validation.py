"""Validation of node selectors, affinity, tolerations and topology spread constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from stromboli.kube.objects.constraints import PREFERRED, REQUIRED
from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.validation.field_errors import duplicate, not_allowed, one_of, required, wrong
from stromboli.local.kinds.validation.names import qualified_problem, value_problem

_TOLERATION_OPERATORS = ("Equal", "Exists", "Lt", "Gt")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_WANT_NO_VALUES = ("Exists", "DoesNotExist")


def placement_causes(spec: Object, field: str) -> Iterator[Cause]:
    """Validate the parts that are present; most pods have none."""
    if selector := spec.get("nodeSelector"):
        yield from _label_causes(selector, f"{field}.nodeSelector")
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration_causes(toleration, f"{field}.tolerations[{index}]")
    if constraints := spec.get("topologySpreadConstraints"):
        yield from _spread_causes(constraints, f"{field}.topologySpreadConstraints")
    if affinity := spec.get("affinity"):
        yield from _affinity_causes(affinity, f"{field}.affinity")


def _label_causes(labels: Mapping[str, str], field: str) -> Iterator[Cause]:
    for key, value in labels.items():
        if problem := qualified_problem(key):
            yield wrong(field, key, problem)
        if problem := value_problem(value):
            yield wrong(field, value, problem)


def _toleration_causes(toleration: Object, field: str) -> Iterator[Cause]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect, value = toleration.get("effect") or "", toleration.get("value") or ""
    if key and (problem := qualified_problem(key)):
        yield wrong(f"{field}.key", key, problem)
    if not key and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield wrong(f"{field}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield wrong(f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator == "Exists" and value:
        yield wrong(f"{field}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif problem := value_problem(value):
        yield wrong(f"{field}.operator", value, problem)
    yield from one_of(f"{field}.operator", operator or "Equal", _TOLERATION_OPERATORS)
    if effect:
        yield from one_of(f"{field}.effect", effect, TAINT_EFFECTS)


def _spread_causes(constraints: list[Object], field: str) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        place = f"{field}[{index}]"
        key, when = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
        yield from _one_spread_causes(constraint, place, key, when)
        if key and (key, when) in seen:
            yield duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
        seen.add((key, when))


def _one_spread_causes(constraint: Object, field: str, key: str, when: str) -> Iterator[Cause]:
    if (skew := constraint.get("maxSkew") or 0) <= 0:
        yield wrong(f"{field}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{field}.topologyKey", "can not be empty")
    yield from one_of(f"{field}.whenUnsatisfiable", when, _WHEN_UNSATISFIABLE)
    if (domains := constraint.get("minDomains")) is not None:
        if domains <= 0:
            yield wrong(f"{field}.minDomains", domains, "must be greater than zero")
        if when != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
            yield wrong(f"{field}.minDomains", domains, why)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if (policy := constraint.get(name)) is not None:
            yield from one_of(f"{field}.{name}", policy, _POLICIES)


def _affinity_causes(affinity: Object, field: str) -> Iterator[Cause]:
    if nodes := affinity.get("nodeAffinity"):
        yield from _node_affinity_causes(nodes, f"{field}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        pods, place = affinity.get(name) or {}, f"{field}.{name}"
        for index, term in enumerate(pods.get(REQUIRED) or ()):
            yield from _pod_term_causes(term, f"{place}.{REQUIRED}[{index}]")
        for index, liking in enumerate(pods.get(PREFERRED) or ()):
            here = f"{place}.{PREFERRED}[{index}]"
            yield from _weight_causes(liking, here)
            yield from _pod_term_causes(liking.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")


def _node_affinity_causes(affinity: Object, field: str) -> Iterator[Cause]:
    if (needed := affinity.get(REQUIRED)) is not None:
        terms, place = needed.get("nodeSelectorTerms"), f"{field}.{REQUIRED}.nodeSelectorTerms"
        if not terms:
            yield required(place, "must have at least one node selector term")
        for index, term in enumerate(terms or ()):
            yield from _clauses_causes(term.get("matchExpressions") or (), f"{place}[{index}].matchExpressions")
    for index, liking in enumerate(affinity.get(PREFERRED) or ()):
        place = f"{field}.{PREFERRED}[{index}]"
        yield from _weight_causes(liking, place)
        clauses = (liking.get("preference") or {}).get("matchExpressions") or ()
        yield from _clauses_causes(clauses, f"{place}.preference.matchExpressions")


def _clauses_causes(clauses: Iterable[Object], field: str) -> Iterator[Cause]:
    for index, clause in enumerate(clauses):
        yield from _clause_causes(clause, f"{field}[{index}]")


def _clause_causes(clause: Object, field: str) -> Iterator[Cause]:
    operator, values = clause.get("operator") or "", clause.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WANT_NO_VALUES:
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield not_allowed(f"{field}.values", why)
    elif operator in ("Lt", "Gt"):
        if len(values) != 1:
            yield required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield wrong(f"{field}.operator", operator, "not a valid selector operator")
    if problem := qualified_problem(clause.get("key") or ""):
        yield wrong(f"{field}.key", clause.get("key") or "", problem)


def _weight_causes(liking: Object, field: str) -> Iterator[Cause]:
    if not 1 <= (weight := liking.get("weight") or 0) <= 100:
        yield wrong(f"{field}.weight", weight, "must be in the range 1-100")


def _pod_term_causes(term: Object, field: str) -> Iterator[Cause]:
    labels = (term.get("labelSelector") or {}).get("matchLabels") or {}
    yield from _label_causes(labels, f"{field}.labelSelector.matchLabels")
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{field}.topologyKey", "can not be empty")
    if problem := qualified_problem(key):
        yield wrong(f"{field}.topologyKey", key, problem)
