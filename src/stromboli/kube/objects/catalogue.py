"""All resources that Stromboli uses, with the requested API version."""

from stromboli.kube.objects import native
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.claims import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from stromboli.kube.objects.cluster import (
    ConfigMap,
    CustomResourceDefinition,
    KubeNode,
    Lease,
    Namespace,
    NodeMetrics,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from stromboli.kube.objects.event import KubeEvent
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.shards import NodeShard
from stromboli.kube.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology, Numatopology
from stromboli.kube.objects.volcano import KubeQueue, PodGroup
from stromboli.kube.objects.volcano_jobs import JobFlow, JobTemplate, VolcanoCommand, VolcanoCronJob, VolcanoJob
from stromboli.kube.objects.workloads import BatchJob, Deployment, ReplicaSet, StatefulSet

PODS = Resource(Pod, "v1", "pods")
NODES = Resource(KubeNode, "v1", "nodes")
NODE_METRICS = Resource(NodeMetrics, "v1beta1", "nodes")
NAMESPACES = Resource(Namespace, "v1", "namespaces")
CONFIG_MAPS = Resource(ConfigMap, "v1", "configmaps")
RESOURCE_QUOTAS = Resource(ResourceQuota, "v1", "resourcequotas")
CLAIMS = Resource(PersistentVolumeClaim, "v1", "persistentvolumeclaims")
VOLUMES = Resource(PersistentVolume, "v1", "persistentvolumes")

PRIORITY_CLASSES = Resource(PriorityClass, "v1", "priorityclasses")
DISRUPTION_BUDGETS = Resource(PodDisruptionBudget, "v1", "poddisruptionbudgets")

JOBS = Resource(BatchJob, "v1", "jobs")
REPLICA_SETS = Resource(ReplicaSet, "v1", "replicasets")
DEPLOYMENTS = Resource(Deployment, "v1", "deployments")
STATEFUL_SETS = Resource(StatefulSet, "v1", "statefulsets")

STORAGE_CLASSES = Resource(StorageClass, "v1", "storageclasses")
CSI_NODES = Resource(CSINode, "v1", "csinodes")
CSI_DRIVERS = Resource(CSIDriver, "v1", "csidrivers")
CSI_CAPACITIES = Resource(CSIStorageCapacity, "v1", "csistoragecapacities")

RESOURCE_CLAIMS = Resource(ResourceClaim, "v1", "resourceclaims")
RESOURCE_CLAIM_TEMPLATES = Resource(ResourceClaimTemplate, "v1", "resourceclaimtemplates")
RESOURCE_SLICES = Resource(ResourceSlice, "v1", "resourceslices")
DEVICE_CLASSES = Resource(DeviceClass, "v1", "deviceclasses")

POD_GROUPS = Resource(PodGroup, "v1beta1", "podgroups")
QUEUES = Resource(KubeQueue, "v1beta1", "queues")
HYPER_NODES = Resource(KubeHyperNode, "v1alpha1", "hypernodes")
TOPOLOGIES = Resource(KubeTopology, "v1alpha1", "topologies")
NODE_SHARDS = Resource(NodeShard, "v1alpha1", "nodeshards")
NUMA_TOPOLOGIES = Resource(Numatopology, "v1alpha1", "numatopologies")
VOLCANO_JOBS = Resource(VolcanoJob, "v1alpha1", "jobs")
VOLCANO_COMMANDS = Resource(VolcanoCommand, "v1alpha1", "commands")
VOLCANO_CRON_JOBS = Resource(VolcanoCronJob, "v1alpha1", "cronjobs")
JOB_FLOWS = Resource(JobFlow, "v1alpha1", "jobflows")
JOB_TEMPLATES = Resource(JobTemplate, "v1alpha1", "jobtemplates")
BIND_REQUESTS = Resource(BindRequest, "v1alpha1", "bindrequests")

#: Native PodGroups in the versions that may be served; a server with both reports every object twice.
NATIVE_POD_GROUPS = Resource(native.NativePodGroup, "v1beta1", "podgroups")
EARLY_NATIVE_POD_GROUPS = Resource(native.NativePodGroup, "v1alpha2", "podgroups")

LEASES = Resource(Lease, "v1", "leases")
EVENTS = Resource(KubeEvent, "v1", "events")
CRDS = Resource(CustomResourceDefinition, "v1", "customresourcedefinitions")
