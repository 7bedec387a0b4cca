"""CustomResourceDefinitions, decoded for their conditions."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import KubeCondition, TopLevel, Wire


class CustomResourceDefinitionStatus(Wire):
    """Conditions: whether the names are accepted and the resource is served."""

    conditions: list[KubeCondition] | None = None


class CustomResourceDefinition(TopLevel):
    """A definition of a custom resource."""

    kind_name: ClassVar[str] = "CustomResourceDefinition"
    group: ClassVar[str] = "apiextensions.k8s.io"

    status: CustomResourceDefinitionStatus = msgspec.field(default_factory=CustomResourceDefinitionStatus)

    @property
    def is_established(self) -> bool:
        conditions = self.status.conditions or ()
        return any(condition.type == "Established" and condition.status == "True" for condition in conditions)
