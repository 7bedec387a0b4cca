"""The built-in plugins, named as in the configuration file. One module or package each, independent of each other."""

from stromboli.core.plugins.binpack import Binpack
from stromboli.core.plugins.budget import BudgetPlugin
from stromboli.core.plugins.capacity.plugin import Capacity
from stromboli.core.plugins.cdp import Cdp
from stromboli.core.plugins.conformance import Conformance
from stromboli.core.plugins.deviceshare.plugin import DeviceShare
from stromboli.core.plugins.drf import Drf
from stromboli.core.plugins.extender.plugin import Extender
from stromboli.core.plugins.fairshare.plugin import FairSharePlugin
from stromboli.core.plugins.fragmentation.plugin import Fragmentation
from stromboli.core.plugins.gang import Gang
from stromboli.core.plugins.gpusharing.plugin import GpuSharing
from stromboli.core.plugins.minruntime import MinRuntime
from stromboli.core.plugins.network_topology_aware.plugin import NetworkTopologyAware
from stromboli.core.plugins.nodegroup import NodeGroup
from stromboli.core.plugins.nodeorder.plugin import NodeOrder
from stromboli.core.plugins.numa_aware.plugin import NumaAware
from stromboli.core.plugins.overcommit import Overcommit
from stromboli.core.plugins.pdb import Pdb
from stromboli.core.plugins.predicates.plugin import Predicates
from stromboli.core.plugins.priority import Priority
from stromboli.core.plugins.proportion import Proportion
from stromboli.core.plugins.rescheduling import Rescheduling
from stromboli.core.plugins.resource_strategy_fit.plugin import ResourceStrategyFit
from stromboli.core.plugins.resourcequota import ResourceQuotaPlugin
from stromboli.core.plugins.shortfirst import ShortFirst
from stromboli.core.plugins.sla import Sla
from stromboli.core.plugins.task_topology.plugin import TaskTopology
from stromboli.core.plugins.tdm.plugin import Tdm
from stromboli.core.plugins.usage.plugin import UsagePlugin

PLUGINS = (
    Binpack, BudgetPlugin, Capacity, Cdp, Conformance, DeviceShare, Drf, Extender, FairSharePlugin, Fragmentation, Gang,
    GpuSharing, MinRuntime, NetworkTopologyAware, NodeGroup, NodeOrder, NumaAware, Overcommit, Pdb, Predicates,
    Priority, Proportion, Rescheduling, ResourceQuotaPlugin, ResourceStrategyFit, ShortFirst, Sla, TaskTopology, Tdm,
    UsagePlugin,
)  # fmt: skip
