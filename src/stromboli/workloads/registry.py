"""The kinds whose pods are known, and who expands them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stromboli.workloads.expansion import Expander
from stromboli.workloads.families.apps import (
    expand_deployment,
    expand_replica_set,
    expand_replication_controller,
    expand_stateful_set,
)
from stromboli.workloads.families.daemon_sets import expand_daemon_set
from stromboli.workloads.families.jobs import expand_cron_job, expand_job
from stromboli.workloads.families.volcano.jobs import expand_volcano_job
from stromboli.workloads.templates import VOLCANO_JOB, Kind


class WorkloadFamily(NamedTuple):
    """How a kind is expanded."""

    expand: Expander
    #: The field that keeps its controller from creating pods.
    suspend: str = ""
    #: What the pods and groups depend on in the installation of the operator; a sentence that follows the kind.
    assumes: str = ""
    #: Whether its pods belong to later runs, so that an object of a cluster stands for none.
    is_schedule: bool = False


FAMILIES: Mapping[Kind, WorkloadFamily] = {
    ("batch", "Job"): WorkloadFamily(expand_job, "spec.suspend"),
    ("batch", "CronJob"): WorkloadFamily(expand_cron_job, "spec.suspend", is_schedule=True),
    ("apps", "Deployment"): WorkloadFamily(expand_deployment),
    ("apps", "ReplicaSet"): WorkloadFamily(expand_replica_set),
    ("apps", "StatefulSet"): WorkloadFamily(expand_stateful_set),
    ("apps", "DaemonSet"): WorkloadFamily(expand_daemon_set),
    ("", "ReplicationController"): WorkloadFamily(expand_replication_controller),
    VOLCANO_JOB: WorkloadFamily(expand_volcano_job),
}

#: Kinds that other workloads refer to. They have templates, and no pods of their own.
REFERENCES: frozenset[Kind] = frozenset()
