"""Decoding of pods, and everything that it depends on.

The requirements of a pod may depend on other objects: on namespace labels, and on the terms of other pods. The decoder
holds this context and what decoding discovered: resources and terms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from stromboli.cluster.objects.namespaces import NamespaceLabels
from stromboli.cluster.objects.pods.classes import Classifier
from stromboli.cluster.objects.pods.device_requests import backends_in
from stromboli.cluster.objects.pods.fractional_gpus import GpuShareDecoder
from stromboli.cluster.objects.pods.pods import PodRecord, without_requests
from stromboli.core.model.devices.claims import ClaimNeeds
from stromboli.core.model.devices.shared_devices import is_counted_by
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.volumes import VolumeNeeds

#: How many names that only pods and PodGroups mention have columns of their own. Each costs a few numbers per node and
#: per job, and makes reports about such names precise.
MAX_UNOFFERED = 8


class PodDecoder:
    def __init__(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        self.backends = backends_in(class_annotations)
        self.axis = ResourceAxis(
            is_left_out=lambda name: is_counted_by(name, self.backends), max_unoffered=MAX_UNOFFERED
        )
        self.gpus = GpuShareDecoder(self.axis, class_annotations)
        self.terms = TermRegistry()
        self.classifier = Classifier(self.axis, self.terms, class_labels, class_annotations)
        self.namespaces = NamespaceLabels()

    @property
    def generation(self) -> tuple[int, ...]:
        """Changes when the accounting matrix needs a new row."""
        return (len(self.axis),)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of known classes, terms, resources and host ports, in use or not."""
        return len(self.classifier), len(self.terms.counted), len(self.axis), self.terms.ports.size

    def decode(self, record: PodRecord) -> None:
        """Decode a pod into facts, or record why it is invalid."""
        try:
            record.facts, record.fault = self.classifier.facts(record.pod, self.namespaces.by_name), ""
        except ValueError as error:
            record.facts, record.fault = None, f"Pod {record.pod.key}: {error}"

    def decode_labels(self, record: PodRecord) -> None:
        """Decode a pod of which only the labels have changed: the API server copies some from the node at binding."""
        if record.facts is None or record.facts.constraints.ask_about_labels:
            self.decode(record)
        else:
            record.facts = self.classifier.relabelled(record.facts, record.pod)

    def class_of(
        self,
        record: PodRecord,
        images: frozenset[str],
        queue: str,
        volumes: VolumeNeeds | None = None,
        claims: ClaimNeeds | None = None,
    ) -> TaskClass:
        """The class of a pod; an invalid one counts as requesting nothing."""
        facts = record.facts or self.classifier.facts(without_requests(record.pod), self.namespaces.by_name)
        if self.gpus.namespace:
            counted = self.gpus.counted(record.pod, facts.request, facts.devices)
            if counted is not facts.request:
                facts = replace(facts, request=counted)
        return self.classifier.class_of(record.pod, facts, images, queue, volumes, claims)

    def use_class_keys(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> bool:
        """Distinguish classes by these keys from now on; returns whether they are new."""
        if self.classifier.reads(class_labels, class_annotations):
            return False
        self.classifier = Classifier(self.axis, self.terms, class_labels, class_annotations)
        self.gpus = GpuShareDecoder(self.axis, class_annotations)
        return True

    def forget_classes(self, in_use: Collection[int]) -> int:
        """Drop all classes except these; returns how many were dropped."""
        before = len(self.classifier)
        self.classifier.keep(in_use)
        return before - len(self.classifier)
