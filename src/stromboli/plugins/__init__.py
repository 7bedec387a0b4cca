"""Plugins: the policies, named as in the configuration file. One module or folder each; none knows another."""

from stromboli.plugins.binpack import Binpack
from stromboli.plugins.capacity import Capacity
from stromboli.plugins.cdp import Cdp
from stromboli.plugins.conformance import Conformance
from stromboli.plugins.deviceshare import DeviceShare
from stromboli.plugins.drf import Drf
from stromboli.plugins.extender import Extender
from stromboli.plugins.gang import Gang
from stromboli.plugins.gpusharing import GpuSharing
from stromboli.plugins.minruntime import MinRuntime
from stromboli.plugins.network_topology_aware import NetworkTopologyAware
from stromboli.plugins.nodegroup import NodeGroup
from stromboli.plugins.nodeorder import NodeOrder
from stromboli.plugins.numa_aware import NumaAware
from stromboli.plugins.overcommit import Overcommit
from stromboli.plugins.pdb import Pdb
from stromboli.plugins.predicates import Predicates
from stromboli.plugins.priority import Priority
from stromboli.plugins.proportion import Proportion
from stromboli.plugins.rescheduling import Rescheduling
from stromboli.plugins.resource_strategy_fit import ResourceStrategyFit
from stromboli.plugins.resourcequota import ResourceQuota
from stromboli.plugins.sla import Sla
from stromboli.plugins.task_topology import TaskTopology
from stromboli.plugins.tdm import Tdm
from stromboli.plugins.usage import UsagePlugin

PLUGINS = (
    Binpack,
    Capacity,
    Cdp,
    Conformance,
    DeviceShare,
    Drf,
    Extender,
    Gang,
    GpuSharing,
    MinRuntime,
    NetworkTopologyAware,
    NodeGroup,
    NodeOrder,
    NumaAware,
    Overcommit,
    Pdb,
    Predicates,
    Priority,
    Proportion,
    Rescheduling,
    ResourceQuota,
    ResourceStrategyFit,
    Sla,
    TaskTopology,
    Tdm,
    UsagePlugin,
)
