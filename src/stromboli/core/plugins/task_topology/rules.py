"""The rules of a job about its roles: affinity, anti-affinity and order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stromboli.core.config.spelling import quoted

AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
TASK_ORDER = "volcano.sh/task-topology-task-order"

#: By role, its partner roles; it may be its own partner.
Partners = Mapping[str, frozenset[str]]

_NO_ROLES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one job."""

    together: Partners
    apart: Partners
    #: Roles in serving order, as far as the job sets it.
    order: tuple[str, ...]

    def are_about(self, role: str) -> bool:
        """Report whether any rule applies to a role."""
        return role in self.together or role in self.apart

    def attraction(self, role: str, other: str) -> int:
        """Return 1 for affinity of a role to another, -1 for anti-affinity, 0 for neither."""
        return (other in self.together.get(role, _NO_ROLES)) - (other in self.apart.get(role, _NO_ROLES))

    def rank(self, role: str) -> tuple[int, int]:
        """Return the rank of a role: as the job sets it, then by the strength of its rules."""
        place = self.order.index(role) if role in self.order else len(self.order)
        return place, -self._strength(role)

    def _strength(self, role: str) -> int:
        """Roles with anti-affinity to themselves come first: they create the buckets that others join."""
        near, away = self.together.get(role, _NO_ROLES), self.apart.get(role, _NO_ROLES)
        if role in away:
            return 4
        if near - {role}:
            return 3
        return 2 if near else 1 if away else 0


def has_annotations(annotations: Mapping[str, str]) -> bool:
    return any(annotations.get(key) for key in (AFFINITY, ANTI_AFFINITY, TASK_ORDER))


def rules_of(annotations: Mapping[str, str], roles: Collection[str]) -> Rules:
    """Parse the rules in annotations. Raises ValueError with the annotation in front if one is invalid."""
    order = _names(annotations.get(TASK_ORDER, ""), TASK_ORDER, roles)
    return Rules(_partners(annotations, AFFINITY, roles), _partners(annotations, ANTI_AFFINITY, roles), order)


def _partners(annotations: Mapping[str, str], key: str, roles: Collection[str]) -> Partners:
    """Parse the groups of an annotation such as `ps,worker;chief`; a single role is its own partner."""
    partners: dict[str, set[str]] = defaultdict(set)
    for group in annotations.get(key, "").split(";"):
        names = _names(group, key, roles)
        for name in names:
            partners[name].update(other for other in names if other != name or len(names) == 1)
    return {name: frozenset(others) for name, others in partners.items()}


def _names(text: str, key: str, roles: Collection[str]) -> tuple[str, ...]:
    if not text.strip():
        return ()
    names = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if not name or name not in roles]:
        known_roles = ", ".join(quoted(role) for role in sorted(roles) if role) or "none"
        raise ValueError(
            f"annotation {key}: no pod of the job has the role {quoted(unknown[0])}; its roles are {known_roles}"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"annotation {key}: the role {quoted(twice)} is named twice in a group; name it once")
    return names
