"""The kinds whose pods are known, and who expands them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stromboli.kube.fields.template_kinds import TEMPLATE_KINDS
from stromboli.workloads.expansion import Expander
from stromboli.workloads.families import leader_worker_sets, mpi, ray, spark, trainer, training
from stromboli.workloads.families.app_wrappers import expand_app_wrapper
from stromboli.workloads.families.apps import (
    expand_deployment,
    expand_replica_set,
    expand_replication_controller,
    expand_stateful_set,
)
from stromboli.workloads.families.argo import workflows
from stromboli.workloads.families.daemon_sets import expand_daemon_set
from stromboli.workloads.families.disaggregated_sets import expand_disaggregated_set
from stromboli.workloads.families.jobs import expand_cron_job, expand_job
from stromboli.workloads.families.jobsets import expand_job_set
from stromboli.workloads.families.spark_connect import expand_spark_connect
from stromboli.workloads.families.volcano.flows import expand_job_flow, expand_volcano_cron_job
from stromboli.workloads.families.volcano.jobs import expand_volcano_job
from stromboli.workloads.families.volcano.templates import CRON_JOB, JOB_FLOW
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


_RUN_POLICY = "spec.runPolicy.suspend"

FAMILIES: Mapping[Kind, WorkloadFamily] = {
    ("batch", "Job"): WorkloadFamily(expand_job, "spec.suspend"),
    ("batch", "CronJob"): WorkloadFamily(expand_cron_job, "spec.suspend", is_schedule=True),
    ("apps", "Deployment"): WorkloadFamily(expand_deployment),
    ("apps", "ReplicaSet"): WorkloadFamily(expand_replica_set),
    ("apps", "StatefulSet"): WorkloadFamily(expand_stateful_set),
    ("apps", "DaemonSet"): WorkloadFamily(expand_daemon_set),
    ("", "ReplicationController"): WorkloadFamily(expand_replication_controller),
    VOLCANO_JOB: WorkloadFamily(expand_volcano_job),
    CRON_JOB: WorkloadFamily(expand_volcano_cron_job, "spec.suspend", is_schedule=True),
    JOB_FLOW: WorkloadFamily(expand_job_flow),
    ("jobset.x-k8s.io", "JobSet"): WorkloadFamily(expand_job_set, "spec.suspend"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): WorkloadFamily(
        leader_worker_sets.expand_leader_worker_set, assumes=leader_worker_sets.ASSUMES
    ),
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): WorkloadFamily(expand_disaggregated_set),
    **{
        ("kubeflow.org", kind): WorkloadFamily(training.expander_of(kind), _RUN_POLICY, training.ASSUMES)
        for kind in training.TRAINING_KINDS
    },
    ("kubeflow.org", "MPIJob"): WorkloadFamily(mpi.expand_mpi_job, _RUN_POLICY, mpi.ASSUMES),
    (trainer.GROUP, "TrainJob"): WorkloadFamily(trainer.expand_train_job, "spec.suspend"),
    ("ray.io", "RayCluster"): WorkloadFamily(ray.expand_ray_cluster, "spec.suspend", ray.ASSUMES),
    ("ray.io", "RayJob"): WorkloadFamily(ray.expand_ray_job, "spec.suspend", ray.ASSUMES),
    ("ray.io", "RayCronJob"): WorkloadFamily(ray.expand_ray_cron_job, "spec.suspend", is_schedule=True),
    ("ray.io", "RayService"): WorkloadFamily(ray.expand_ray_service, "spec.suspend", ray.ASSUMES),
    ("sparkoperator.k8s.io", "SparkApplication"): WorkloadFamily(
        spark.expand_spark_application, "spec.suspend", spark.ASSUMES
    ),
    ("sparkoperator.k8s.io", "SparkConnect"): WorkloadFamily(expand_spark_connect),
    ("workload.codeflare.dev", "AppWrapper"): WorkloadFamily(expand_app_wrapper, "spec.suspend"),
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): WorkloadFamily(
        spark.expand_scheduled_spark_application, "spec.suspend", is_schedule=True
    ),
    (workflows.GROUP, "Workflow"): WorkloadFamily(workflows.expand_workflow, "spec.suspend"),
    (workflows.GROUP, "CronWorkflow"): WorkloadFamily(workflows.expand_cron_workflow, "spec.suspend", is_schedule=True),
}

#: Kinds that other workloads refer to. They have templates, and no pods of their own.
REFERENCES: frozenset[Kind] = frozenset(TEMPLATE_KINDS)
