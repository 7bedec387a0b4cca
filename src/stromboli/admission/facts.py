"""Inputs of the rules besides the request: known objects of the cluster, and the configured policy."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stromboli import kube
from stromboli.admission.requests import User
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.controllers.jobs.plugins.registry import JobPlugins, installed_plugins
from stromboli.workloads.queues import DEFAULT_QUEUE, QUEUE_NAMES

#: Annotation of a namespace: the queue of groups without one.
NAMESPACE_QUEUE = QUEUE_NAMES[0]

AUTHORISATION, PRIORITIES, FROZEN_FIELDS = "authorisation", "priority-classes", "frozen-fields"
CHECKS = (AUTHORISATION, PRIORITIES, FROZEN_FIELDS)
"""Tenancy rules, which can be disabled; validity is always checked."""

TRUSTED_GROUPS = ("system:masters",)
#: Kubernetes' own controllers.
CONTROLLER_USERS = ("system:kube-controller-manager",)
CONTROLLER_GROUPS = ("system:serviceaccounts:kube-system",)


@dataclass(frozen=True, slots=True)
class Facts:
    """Known objects of the cluster by name, or by namespace and name."""

    queues: Mapping[str, kube.KubeQueue] = field(default_factory=dict)
    #: Both kinds of groups, by job key.
    groups: Mapping[str, kube.PodGroup] = field(default_factory=dict)
    namespaces: Mapping[str, kube.Namespace] = field(default_factory=dict)
    priority_classes: Mapping[str, kube.PriorityClass] = field(default_factory=dict)
    #: The specs of the JobTemplates that a reviewed JobFlow may name.
    job_templates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def with_queues(self, found: Mapping[str, kube.KubeQueue | None]) -> Facts:
        """A copy with queues that were just read; None for a queue that does not exist."""
        known = {**self.queues, **found}
        return replace(self, queues={name: queue for name, queue in known.items() if queue is not None})

    def with_groups(self, found: Mapping[str, kube.PodGroup | None]) -> Facts:
        """A copy with groups that were just read; None for a group that does not exist."""
        read = {key: group for key, group in found.items() if group is not None}
        return replace(self, groups=ChainMap(read, dict(self.groups))) if read else self

    def queue_of_namespace(self, namespace: str) -> str:
        """The queue of a namespace; empty if it has none."""
        found = self.namespaces.get(namespace)
        return (found.metadata.annotations or {}).get(NAMESPACE_QUEUE, "") if found else ""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """Configuration of the rules."""

    #: Names of the scheduler; the first is the default for pods with a group or queue.
    scheduler_names: tuple[str, ...] = ("stromboli", "volcano")
    default_queue: str = DEFAULT_QUEUE
    #: Queues that all users may use.
    public_queues: frozenset[str] = frozenset((DEFAULT_QUEUE,))
    #: Users and groups that act on behalf of others; no access review is made for them.
    trusted_users: frozenset[str] = frozenset()
    trusted_groups: frozenset[str] = frozenset(TRUSTED_GROUPS)
    #: The same for objects of reviewed owners, and for changes.
    controller_users: frozenset[str] = frozenset(CONTROLLER_USERS)
    controller_groups: frozenset[str] = frozenset(CONTROLLER_GROUPS)
    #: Disabled checks, of CHECKS.
    without: frozenset[str] = frozenset()
    assigns_scheduler: bool = True
    #: Whether new objects name the user who made them.
    records_users: bool = False
    plugins: tuple[BinderPlugin, ...] = ()
    job_plugins: JobPlugins = field(default_factory=installed_plugins)

    def checks(self, what: str, user: User) -> bool:
        """Report whether a tenancy rule applies to this user."""
        return what not in self.without and not self.trusts(user)

    def trusts(self, user: User) -> bool:
        known = user.username in self.trusted_users or not self.trusted_groups.isdisjoint(user.groups or ())
        return known or self.is_controller(user)

    def is_controller(self, user: User) -> bool:
        return user.username in self.controller_users or not self.controller_groups.isdisjoint(user.groups or ())

    def without_controllers(self) -> AdmissionPolicy:
        """The same policy, with controllers as ordinary users."""
        return replace(self, controller_users=frozenset(), controller_groups=frozenset())
