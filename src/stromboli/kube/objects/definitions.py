"""Definitions of custom resources: whether the server serves them yet."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import KubeCondition, TopLevel, Wire


class CustomResourceDefinitionStatus(Wire):
    """Whether the names were accepted and the resource is served."""

    conditions: list[KubeCondition] | None = None


class CustomResourceDefinition(TopLevel):
    """A kind that the server learns."""

    kind_name: ClassVar[str] = "CustomResourceDefinition"
    group: ClassVar[str] = "apiextensions.k8s.io"

    status: CustomResourceDefinitionStatus = msgspec.field(default_factory=CustomResourceDefinitionStatus)

    @property
    def is_established(self) -> bool:
        conditions = self.status.conditions or ()
        return any(condition.type == "Established" and condition.status == "True" for condition in conditions)
