"""The public API for authors of plugins, actions, binder plugins and job plugins.

Import from here and from nothing else: the other modules of `stromboli` change without notice. `API_VERSION` is
increased when a name is removed or its meaning changes; names are added without a new version. A plugin or action
written for another version sets `api_version` and is rejected where that version is not supported.

The names for binder plugins and job plugins are loaded on first use, because they need the Kubernetes client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.combining import Descending, Vote
from stromboli.core.config.external_services import (
    Document,
    Endpoint,
    ExternalServices,
    ServiceClient,
    ServiceError,
    checked_url,
)
from stromboli.core.config.plugin import (
    API_VERSION,
    CLUSTER,
    Allowance,
    Domain,
    Event,
    EvictionContext,
    Key,
    Plugin,
    PluginFailure,
    QueueFacts,
    Scores,
    Victims,
)
from stromboli.core.config.rule_adapters import InvalidAnswer, NodeView, PerNodeOrder, PerNodePredicate
from stromboli.core.config.spelling import quoted
from stromboli.core.model.jobs.job import (
    Job,
    JobSpec,
    NetworkTopology,
    SubGroupPolicy,
    SubJob,
    ready_in,
    role_pipelined,
    role_ready,
    valid_in,
)
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Index, Mask, Node, NodeTable, Taint
from stromboli.core.model.nodes.taints import first_untolerated, tolerates
from stromboli.core.model.nodes.usage import UsageTable
from stromboli.core.model.queues.queue import NO_NODE_GROUPS, ROOT, NodeGroups, Queue, QueueUsage
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.quantity import format_quantity, parse_quantity
from stromboli.core.model.resources.resources import (
    CPU,
    MEMORY,
    PODS,
    UNLIMITED,
    Amounts,
    Request,
    ResourceAxis,
    add_amounts,
    add_request,
    counts_in_milli,
    dense,
    dominant_share,
    exceeding,
    is_bytes,
    subtract_amounts,
)
from stromboli.core.model.tasks.host_ports import HostPort, PortSet
from stromboli.core.model.tasks.selectors import Requirement
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import (
    LIMITS,
    QUEUE,
    AffinityTerm,
    SpreadConstraint,
    TaskClass,
    Toleration,
)
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.values.times import duration_or_nothing, parse_duration
from stromboli.core.preemption.headroom import EvictionHeadroom
from stromboli.core.preemption.units import SpareMembers
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import FractionScore, Locality, NodeFilter, NodeScorer
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement
from stromboli.core.topology.domain_group import DomainGroup, DomainScores, group_of
from stromboli.core.topology.previous_domains import enclosing_domain

if TYPE_CHECKING:
    from stromboli.binding.plugins.plugin import (
        BinderContext,
        BinderPlugin,
        ClusterView,
        PermanentFailure,
        Placement,
        StepFailed,
    )
    from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
    from stromboli.controllers.jobs.plugins.plugin import JobPlugin, PluginArgumentError, PluginObject
    from stromboli.kube.client.api_errors import ApiError
    from stromboli.kube.objects import catalogue as kinds
    from stromboli.workloads.document import WorkloadDocument
    from stromboli.workloads.families.volcano.rules.findings import RuleFinding
    from stromboli.workloads.families.volcano.tasks import VolcanoTask

_JOB_PLUGINS = "stromboli.controllers.jobs.plugins"
_VOLCANO = "stromboli.workloads.families.volcano"
#: Names for binder plugins and job plugins, by module and attribute; an empty attribute means the module itself.
_LOADED_NAMES = {
    "ApiError": ("stromboli.kube.client.api_errors", "ApiError"),
    "Placement": ("stromboli.binding.plugins.plugin", "Placement"),
    "BinderContext": ("stromboli.binding.plugins.plugin", "BinderContext"),
    "BinderPlugin": ("stromboli.binding.plugins.plugin", "BinderPlugin"),
    "PermanentFailure": ("stromboli.binding.plugins.plugin", "PermanentFailure"),
    "ClusterView": ("stromboli.binding.plugins.plugin", "ClusterView"),
    "StepFailed": ("stromboli.binding.plugins.plugin", "StepFailed"),
    "kinds": ("stromboli.kube.objects.catalogue", ""),
    "JobPlugin": (f"{_JOB_PLUGINS}.plugin", "JobPlugin"),
    "PluginArgumentError": (f"{_JOB_PLUGINS}.plugin", "PluginArgumentError"),
    "PluginObject": (f"{_JOB_PLUGINS}.plugin", "PluginObject"),
    "PluginFlag": (f"{_JOB_PLUGINS}.arguments", "PluginFlag"),
    "PluginWithFlags": (f"{_JOB_PLUGINS}.arguments", "PluginWithFlags"),
    "RuleFinding": (f"{_VOLCANO}.rules.findings", "RuleFinding"),
    "VolcanoTask": (f"{_VOLCANO}.tasks", "VolcanoTask"),
    "WorkloadDocument": ("stromboli.workloads.document", "WorkloadDocument"),
}

__all__ = [
    "ALLOCATED_STATUSES", "API_VERSION", "CLUSTER", "CPU", "LIMITS", "MEMORY", "NO_NODE_GROUPS", "PODS", "QUEUE",
    "ROOT", "UNLIMITED", "Action", "AffinityTerm", "Allowance", "Amount", "Amounts", "ApiError", "Argument",
    "Arguments", "BinderContext", "BinderPlugin", "ClassCache", "ClusterView", "Code", "Descending", "Document",
    "Domain", "DomainGroup", "DomainScores", "Endpoint", "Event", "EvictionContext", "EvictionHeadroom",
    "ExternalServices", "FractionScore", "HostPort", "HyperNodeTree", "Index", "InvalidAnswer", "Job", "JobOrder",
    "JobPlugin", "JobSpec", "Key", "Ledger", "LedgerInconsistency", "Locality", "Mask", "NetworkTopology", "Node",
    "NodeFilter", "NodeGroups", "NodeScorer", "NodeTable", "NodeView", "PerNodeOrder", "PerNodePredicate",
    "PermanentFailure", "Placement", "Plugin", "PluginArgumentError", "PluginFailure", "PluginFlag", "PluginObject",
    "PluginWithFlags", "PortSet", "PrefixArgument", "Queue", "QueueFacts", "QueueUsage", "Reason", "Request",
    "Requirement", "ResourceAxis", "Rows", "RuleFinding", "Scores", "ServiceClient", "ServiceError", "Session",
    "SpareMembers", "SpreadConstraint", "Statement", "StepFailed", "SubGroupPolicy", "SubJob", "Taint", "Task",
    "TaskClass", "TaskRefusal", "TaskStatus", "Toleration", "UsageTable", "Victims", "VolcanoTask", "Vote",
    "WorkloadDocument", "add_amounts", "add_request", "checked_url", "counts_in_milli", "dense", "dominant_share",
    "duration_or_nothing", "enclosing_domain", "exceeding", "first_untolerated", "format_quantity", "group_of",
    "is_bytes", "kinds", "parse_duration", "parse_quantity", "quoted", "ready_in", "role_pipelined", "role_ready",
    "subtract_amounts", "tolerates", "valid_in",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a name for binder plugins or job plugins."""
    if name not in _LOADED_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LOADED_NAMES[name]
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
