"""Leases, used for leader election."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, TopLevel, Wire


class LeaseSpec(Wire):
    """Holder, times and transitions of the lease."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Lease(TopLevel):
    """A lease, valid as long as it is renewed."""

    kind_name: ClassVar[str] = "Lease"
    group: ClassVar[str] = "coordination.k8s.io"
    namespaced: ClassVar[bool] = True

    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
