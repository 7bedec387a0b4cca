"""The built-in plugins, named as in the configuration file. One module or package each, independent of each other."""

from stromboli.core.plugins.binpack import Binpack
from stromboli.core.plugins.capacity import Capacity
from stromboli.core.plugins.cdp import Cdp
from stromboli.core.plugins.conformance import Conformance
from stromboli.core.plugins.deviceshare import DeviceShare
from stromboli.core.plugins.drf import Drf
from stromboli.core.plugins.extender import Extender
from stromboli.core.plugins.gang import Gang
from stromboli.core.plugins.gpusharing import GpuSharing
from stromboli.core.plugins.minruntime import MinRuntime
from stromboli.core.plugins.network_topology_aware import NetworkTopologyAware
from stromboli.core.plugins.nodegroup import NodeGroup
from stromboli.core.plugins.nodeorder import NodeOrder
from stromboli.core.plugins.numa_aware import NumaAware
from stromboli.core.plugins.overcommit import Overcommit
from stromboli.core.plugins.pdb import Pdb
from stromboli.core.plugins.predicates import Predicates
from stromboli.core.plugins.priority import Priority
from stromboli.core.plugins.proportion import Proportion
from stromboli.core.plugins.rescheduling import Rescheduling
from stromboli.core.plugins.resource_strategy_fit import ResourceStrategyFit
from stromboli.core.plugins.resourcequota import ResourceQuotaPlugin
from stromboli.core.plugins.sla import Sla
from stromboli.core.plugins.task_topology import TaskTopology
from stromboli.core.plugins.tdm import Tdm
from stromboli.core.plugins.usage import UsagePlugin

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
    ResourceQuotaPlugin,
    ResourceStrategyFit,
    Sla,
    TaskTopology,
    Tdm,
    UsagePlugin,
)
