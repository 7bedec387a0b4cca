"""What a job says about its roles: which belong together, which stay apart, and which come first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stromboli.core.config.spelling import quoted

AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
TASK_ORDER = "volcano.sh/task-topology-task-order"

#: By role, the roles that are meant with it; its own may be among them.
Partners = Mapping[str, frozenset[str]]

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one job."""

    together: Partners
    apart: Partners
    #: Roles in the order in which their pods are served, as far as the job says.
    order: tuple[str, ...]

    def are_about(self, role: str) -> bool:
        """Whether it matters for a role who stands beside it."""
        return role in self.together or role in self.apart

    def attraction(self, role: str, other: str) -> int:
        """Whether a pod of the role likes (1) or dislikes (-1) to stand beside one of the other."""
        return (other in self.together.get(role, _NOBODY)) - (other in self.apart.get(role, _NOBODY))

    def rank(self, role: str) -> tuple[int, int]:
        """The place of a role in line: as the job says, then those with the stronger wishes."""
        place = self.order.index(role) if role in self.order else len(self.order)
        return place, -self._strength(role)

    def _strength(self, role: str) -> int:
        """Roles that stay away from their own kind come first: they make the buckets that others join."""
        near, away = self.together.get(role, _NOBODY), self.apart.get(role, _NOBODY)
        if role in away:
            return 4
        if near - {role}:
            return 3
        return 2 if near else 1 if away else 0


def has_annotations(annotations: Mapping[str, str]) -> bool:
    return any(annotations.get(key) for key in (AFFINITY, ANTI_AFFINITY, TASK_ORDER))


def rules_of(annotations: Mapping[str, str], roles: Collection[str]) -> Rules:
    """The rules that annotations state. Raises ValueError with the annotation in front when one makes no sense."""
    order = _names(annotations.get(TASK_ORDER, ""), TASK_ORDER, roles)
    return Rules(_partners(annotations, AFFINITY, roles), _partners(annotations, ANTI_AFFINITY, roles), order)


def _partners(annotations: Mapping[str, str], key: str, roles: Collection[str]) -> Partners:
    """Who is meant with whom in groups such as `ps,worker;chief`; a role alone is meant with its own kind."""
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
        told = ", ".join(quoted(role) for role in sorted(roles) if role) or "none"
        raise ValueError(f"annotation {key}: no pod of the job has the role {quoted(unknown[0])}; its roles are {told}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"annotation {key}: the role {quoted(twice)} stands twice in a group; name it once")
    return names
