"""Task classes of pods: requests and constraints, interned.

Decoding has two halves. The *facts* of a pod depend on the pod alone. Its *class* also depends on other objects: which
registered terms the pod matches, and which images nodes hold. Facts are therefore decoded when a pod arrives, and
classes are assigned when a snapshot is built. Pods that were created from one template share their facts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pods.constraints import Namespaces, PodConstraints, constraints_of
from stromboli.cluster.objects.pods.cpu_pinning import requested_cpus
from stromboli.cluster.objects.pods.device_requests import backends_in, device_requests_of
from stromboli.core.model.devices.claims import ClaimNeeds
from stromboli.core.model.devices.shared_devices import SharedDeviceRequests
from stromboli.core.model.nodes.numa import WANTED
from stromboli.core.model.resources.resources import Request, ResourceAxis
from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.tasks.task_class import LIMITS, QUEUE, TaskClass
from stromboli.core.model.volumes.volumes import VolumeNeeds
from stromboli.workloads.requests import (
    is_resize_infeasible,
    pod_limits,
    pod_request,
    scored_request,
    unoffered_names,
)

ROLE = "volcano.sh/task-spec"
Answer = TypeVar("Answer")
#: Maximum number of remembered templates, and of remembered answers about their classes.
_MAX_REMEMBERED = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class PodFacts:
    """The scheduling-relevant content of a pod; shared, so that identity is a fast test for equality."""

    request: Request
    scored_request: tuple[int, int]
    role: str
    constraints: PodConstraints
    images: tuple[str, ...]
    container_count: int
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    devices: SharedDeviceRequests | None = None
    unoffered: tuple[str, ...] = ()


#: Pseudo-annotations that plugins may read and that pods cannot set.
_NOT_OF_PODS = (QUEUE, LIMITS, WANTED)


def image_name(name: str) -> str:
    """The name under which nodes report an image: without tag or digest it is the latest."""
    return name if ":" in name.rpartition("/")[2] or "@" in name else f"{name}:latest"


def role_of(pod: kube.Pod) -> str:
    metadata = pod.metadata
    return (metadata.annotations or {}).get(ROLE) or (metadata.labels or {}).get(ROLE) or ""


class Classifier:
    """Assigns task classes to pods. `labels` and `annotations` are the keys that plugins read."""

    def __init__(
        self, axis: ResourceAxis, terms: TermRegistry, labels: Sequence[str] = (), annotations: Sequence[str] = ()
    ) -> None:
        self._axis = axis
        self._terms = terms
        self.labels = tuple(labels)
        self.annotations = tuple(annotations)
        self._backends = backends_in(annotations)
        self._classes: dict[object, TaskClass] = {}
        #: Facts by template, and classes by facts and everything else that they depend on.
        self._templates: dict[object, PodFacts] = {}
        self._assigned: dict[object, TaskClass] = {}
        #: Number of class numbers assigned so far.
        self._class_count = 0
        self._matches: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}
        self._matches_at = -1

    def __len__(self) -> int:
        return len(self._classes)

    @property
    def distinguishes_queues(self) -> bool:
        """Report whether a plugin reads the queue of pods: the class then depends on the job as well."""
        return QUEUE in self.annotations

    def reads(self, labels: Sequence[str], annotations: Sequence[str]) -> bool:
        """Report whether classes are distinguished by exactly these keys."""
        return (self.labels, self.annotations) == (tuple(labels), tuple(annotations))

    def keep(self, numbers: Collection[int]) -> None:
        """Drop all classes except those with these numbers. Numbers are never reused."""
        self._classes = {key: known for key, known in self._classes.items() if known.number in numbers}
        self._matches.clear()
        self._assigned.clear()
        self._templates.clear()

    def facts(self, pod: kube.Pod, namespaces: Namespaces) -> PodFacts:
        """Decode a pod. Raises ValueError, with the field in front, for invalid content."""
        template = self._template(pod)
        facts = self._templates.get(template) if template is not None else None
        if facts is None:
            facts = self._decode(pod, namespaces)
            if template is not None:
                _remember(self._templates, template, facts)
        return facts

    def _template(self, pod: kube.Pod) -> object | None:
        """Everything that the facts of a pod depend on; None if they also depend on its name, namespace or job."""
        spec, metadata, granted = pod.spec, pod.metadata, pod.status.container_statuses
        affinity = spec.affinity
        if self._backends or spec.topology_spread_constraints:
            return None
        if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
            return None
        if spec.node_name:
            spec = msgspec.structs.replace(spec, node_name=None)
        try:
            content = msgspec.json.encode((spec, granted, bool(granted) and is_resize_infeasible(pod)))
        except OverflowError:  # an amount that is reported when it is parsed
            return None
        annotations = _chosen(metadata.annotations, self.annotations)
        return content, role_of(pod), _chosen(metadata.labels, self.labels), annotations

    def _decode(self, pod: kube.Pod, namespaces: Namespaces) -> PodFacts:
        constraints = constraints_of(pod, namespaces)
        constraints.register(self._terms)
        request = pod_request(pod, self._axis)
        containers = pod.spec.containers or ()
        return PodFacts(
            request,
            scored_request(pod, request),
            role_of(pod),
            constraints,
            tuple(sorted(image_name(container.image) for container in containers if container.image)),
            len(containers),
            _chosen(pod.metadata.labels, self.labels),
            (*_chosen(pod.metadata.annotations, self.annotations), *self._limits(pod), *self._wanted(pod)),
            device_requests_of(pod, self._backends) if self._backends else None,
            unoffered_names(pod, request, self._axis),
        )

    def _limits(self, pod: kube.Pod) -> tuple[tuple[str, str], ...]:
        """Only if a plugin reads limits: pods with different limits then belong to different classes."""
        if LIMITS not in self.annotations:
            return ()
        return ((LIMITS, "/".join("-" if limit is None else str(limit) for limit in pod_limits(pod))),)

    def _wanted(self, pod: kube.Pod) -> tuple[tuple[str, str], ...]:
        """Exclusive CPUs that the containers of the pod request, if a plugin reads that."""
        wanted = requested_cpus(pod) if WANTED in self.annotations else None
        return () if wanted is None else ((WANTED, wanted),)

    def relabelled(self, facts: PodFacts, pod: kube.Pod) -> PodFacts:
        """The facts of a pod after a label change, if its constraints do not depend on its labels."""
        role, labels = role_of(pod), _chosen(pod.metadata.labels, self.labels)
        return facts if (role, labels) == (facts.role, facts.labels) else replace(facts, role=role, labels=labels)

    def class_of(
        self,
        pod: kube.Pod,
        facts: PodFacts,
        images: frozenset[str],
        queue: str,
        volumes: VolumeNeeds | None = None,
        claims: ClaimNeeds | None = None,
    ) -> TaskClass:
        """The class of a pod; `images` are those that some node holds, `queue` is the queue of its job, and `volumes`
        and `claims` are what its claims currently require.
        """
        feeds = self._feeds(pod, facts) if self._terms.counted else ()
        context = (facts, images, queue if self.distinguishes_queues else "", feeds, volumes, claims)
        known = self._assigned.get(context)
        if known is None:
            known = self._find_class(*context)
            _remember(self._assigned, context, known)
        return known

    def _find_class(
        self,
        facts: PodFacts,
        images: frozenset[str],
        queue: str,
        feeds: tuple[int, ...],
        volumes: VolumeNeeds | None,
        claims: ClaimNeeds | None,
    ) -> TaskClass:
        if self.distinguishes_queues:
            facts = replace(facts, annotations=(*facts.annotations, (QUEUE, queue)))
        present = tuple(image for image in facts.images if image in images)
        key = (facts.request, facts.scored_request, facts.role, facts.constraints, present, feeds, facts.labels,
               facts.annotations, facts.container_count if present else 0, facts.devices, facts.unoffered, volumes,
               claims)  # fmt: skip
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = self._new_class(facts, present, feeds, volumes, claims)
            self._class_count += 1
        return known

    def _new_class(
        self,
        facts: PodFacts,
        images: tuple[str, ...],
        feeds: tuple[int, ...],
        volumes: VolumeNeeds | None,
        claims: ClaimNeeds | None,
    ) -> TaskClass:
        constraints = facts.constraints
        return TaskClass(
            number=self._class_count,
            request=facts.request,
            role=facts.role,
            scored_request=facts.scored_request,
            node_selector=constraints.node_selector,
            required_node_terms=constraints.required_node_terms,
            preferred_node_terms=constraints.preferred_node_terms,
            tolerations=constraints.tolerations,
            ports=constraints.ports,
            images=images,
            container_count=facts.container_count,
            affinity=constraints.affinity,
            anti_affinity=constraints.anti_affinity,
            preferred_affinity=constraints.preferred_affinity,
            spread=constraints.spread,
            matches_own_affinity=constraints.matches_own_affinity,
            feeds=feeds,
            volumes=volumes,
            claims=claims,
            labels=dict(facts.labels),
            annotations=dict(facts.annotations),
            devices=facts.devices,
            unoffered=facts.unoffered,
        )

    def avoiding(self, task_class: TaskClass, nodes: Collection[str]) -> TaskClass:
        """A class like this one that excludes these nodes."""
        avoided = tuple(sorted(nodes))
        key = (task_class.number, avoided)
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = replace(task_class, number=self._class_count, avoided=avoided)
            self._class_count += 1
        return known

    def _feeds(self, pod: kube.Pod, facts: PodFacts) -> tuple[int, ...]:
        """The term counters that the pod increments on its node."""
        constraints, number = facts.constraints, self._terms.number
        ports = (number(constraints.ports),) if constraints.ports else ()
        return tuple(sorted({*self._matching(pod), *map(number, constraints.owned()), *ports}))

    def _matching(self, pod: kube.Pod) -> tuple[int, ...]:
        if self._matches_at != self._terms.generation:
            self._matches.clear()
            self._matches_at = self._terms.generation
        labels = pod.metadata.labels or {}
        key = (pod.metadata.namespace, tuple(sorted(labels.items())))
        known = self._matches.get(key)
        if known is None:
            known = self._matches[key] = tuple(self._terms.matching(pod.metadata.namespace, labels))
        return known


def _remember(answers: dict[object, Answer], question: object, answer: Answer) -> None:
    if len(answers) >= _MAX_REMEMBERED:
        answers.clear()
    answers[question] = answer


def _chosen(values: Mapping[str, str] | None, keys: Sequence[str]) -> tuple[tuple[str, str], ...]:
    if not values or not keys:
        return ()
    return tuple((key, values[key]) for key in keys if key in values and key not in _NOT_OF_PODS)
