"""PriorityClasses: the priorities of groups and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stromboli import kube
from stromboli.cluster.objects.layout_version import LayoutVersion
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup

TASK_PRIORITY = "volcano.sh/task-priority"
#: Annotation of a queue: the priority classes allowed in it, separated by commas.
ALLOWED_CLASSES = "scheduling.stromboli.dev/priority-classes"
_TASK_PRIORITIES = range(-(1 << 31), 1 << 31)


def task_priority_of(pod: kube.Pod) -> int | None:
    """The annotated priority of a pod among the pods of its job; None without a valid one."""
    text = (pod.metadata.annotations or {}).get(TASK_PRIORITY)
    return None if text is None or task_priority_problem(text) else int(text)


def task_priority_warning(pod: kube.Pod) -> str:
    """Return why the annotation is ignored; empty if it is valid or absent."""
    text = (pod.metadata.annotations or {}).get(TASK_PRIORITY)
    problem = "" if text is None else task_priority_problem(text)
    return f"{problem}; annotation ignored" if problem else ""


def task_priority_problem(text: str) -> str:
    """What is wrong with such an annotation; empty if it is valid. Values outside of 32 bits are invalid."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) < 12 and int(text) in _TASK_PRIORITIES:
        return ""
    limits = f"{_TASK_PRIORITIES[0]} to {_TASK_PRIORITIES[-1]}"
    return f"metadata.annotations[{TASK_PRIORITY}]: {text[:40]!r} is not a number from {limits}"


def allowed_classes(annotations: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The priority classes that the annotations of a queue list; None if they list none and all are allowed."""
    listed = (annotations or {}).get(ALLOWED_CLASSES)
    return None if listed is None else tuple(name for part in listed.split(",") if (name := part.strip()))


class Priorities:
    """The values of priority classes."""

    def __init__(self, classes: Mapping[str, kube.PriorityClass]) -> None:
        self._values = {name: entry.value or 0 for name, entry in classes.items()}
        self._default = max((entry.value or 0 for entry in classes.values() if entry.global_default), default=0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Priorities):
            return NotImplemented
        return (self._values, self._default) == (other._values, other._default)

    def of_group(self, group: kube.PodGroup) -> int:
        """The value of the class that the group names; the API server may have resolved that of a native group."""
        if isinstance(group, NativeGroup) and group.origin.spec.priority is not None:
            return group.origin.spec.priority
        return self._values.get(group.spec.priority_class_name or "", self._default)

    def of_pod(self, pod: kube.Pod) -> int:
        """A pod's own priority: that of its spec, or of its class; otherwise 1."""
        if pod.spec.priority is not None:
            return pod.spec.priority
        return self._values.get(pod.spec.priority_class_name or "", 1)

    def of_pod_without_class(self, pod: kube.Pod) -> int:
        """Its priority if its class does not count: never more than that of a pod that names none."""
        return min(self.of_pod(pod), self._default)


class PriorityClasses:
    """All priority classes. Priorities of pods and groups are stored with them, so a new value rebuilds everything."""

    def __init__(self, version: LayoutVersion) -> None:
        self._version = version
        self._objects: dict[str, kube.PriorityClass] = {}
        self.priorities = Priorities({})

    def apply(self, priority_class: kube.PriorityClass) -> None:
        self._objects[priority_class.key] = priority_class
        self._update()

    def remove(self, priority_class: kube.PriorityClass) -> None:
        self._objects.pop(priority_class.key, None)
        self._update()

    def objects(self) -> Iterable[kube.PriorityClass]:
        return self._objects.values()

    def _update(self) -> None:
        priorities = Priorities(self._objects)
        if priorities != self.priorities:
            self.priorities = priorities
            self._version.generation += 1


def relevant_fields(priority_class: kube.PriorityClass) -> tuple[object, ...]:
    return priority_class.value, priority_class.global_default
