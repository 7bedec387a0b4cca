"""Store, strategies, writes and deletion, assembled."""

from __future__ import annotations

from stromboli.local.api_server.deletion import DeleteOptions, Deletion
from stromboli.local.api_server.lists import Lists
from stromboli.local.api_server.registry import KindRegistry, ServedResource
from stromboli.local.api_server.server_side_apply import Applies
from stromboli.local.api_server.store import HistoryLimits, Object, Store, StoreEntry
from stromboli.local.api_server.termination import Termination
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.api_server.writes import Writes
from stromboli.local.kinds.builtin_kinds import builtin_resources
from stromboli.local.kinds.config_data import DataStrategy, SecretStrategy
from stromboli.local.kinds.custom_resources.strategies import CRD_GROUP, CustomStrategy, DefinitionStrategy
from stromboli.local.kinds.events import EVENTS_GROUP
from stromboli.local.kinds.native_pod_groups import NATIVE_GROUPS, NativeGroupStrategy
from stromboli.local.kinds.nodes import NodeStrategy
from stromboli.local.kinds.plain_kinds import (
    INITIAL_NAMESPACES,
    BudgetStrategy,
    ConditionalStrategy,
    EventStrategy,
    LeaseStrategy,
    NamespaceStrategy,
    RoleStrategy,
)
from stromboli.local.kinds.pods.evictions import Evictions
from stromboli.local.kinds.pods.pods import PodKindStrategy
from stromboli.local.kinds.priority_classes import PriorityClassStrategy, system_classes
from stromboli.local.kinds.storage import ClaimStrategy, StorageClassStrategy, VolumeStrategy
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.workloads import workload_strategies

_CONDITIONAL = (
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "volumeattachments"),
)
#: Watches can be resumed for as long as with the watch cache of kube-apiserver.
_HISTORY = HistoryLimits(seconds=75.0, bytes=32 << 20)
_RBAC = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")


class ControlPlane:
    """Objects and rules of a cluster, without network. Native PodGroups are served only on request. The contents of a
    deleted namespace stay for `namespace_grace` seconds.
    """

    def __init__(self, *, native_groups: bool = False, namespace_grace: float = 0.0) -> None:
        self.store = Store(_HISTORY)
        self.registry = KindRegistry([*builtin_resources(), *([NATIVE_GROUPS] if native_groups else [])])
        for resource in self.registry:
            self.store.add_collection(resource.group, resource.plural, resource.api_version)
        self._special = self._strategies()
        self._custom = CustomStrategy()
        self._plain = KindStrategy()
        self.writes = Writes(self.store, self._strategy)
        self.deletion = Deletion(self.writes, self._strategy)
        self.applies = Applies(self.store, self.writes)
        self.lists = Lists(self.store)
        self._emptying = Termination(self.store, self.registry, self.writes, self.deletion, namespace_grace)
        self.writes.after_removal = self._emptying.after_removal
        budgets = self.registry.named("policy", "v1", "poddisruptionbudgets")
        self.evictions = Evictions(self.store, self.writes, self.deletion, budgets)
        self._create_initial_objects()

    def _strategies(self) -> dict[tuple[str, str], KindStrategy]:
        return {
            ("", "pods"): PodKindStrategy(self.store),
            ("", "nodes"): NodeStrategy(),
            ("", "configmaps"): DataStrategy(),
            ("", "secrets"): SecretStrategy(),
            ("", "events"): EventStrategy(self.store),
            (EVENTS_GROUP, "events"): EventStrategy(self.store),
            ("coordination.k8s.io", "leases"): LeaseStrategy(),
            **dict.fromkeys(_CONDITIONAL, ConditionalStrategy()),
            ("policy", "poddisruptionbudgets"): BudgetStrategy(),
            ("", "persistentvolumeclaims"): ClaimStrategy(),
            ("", "persistentvolumes"): VolumeStrategy(),
            ("storage.k8s.io", "storageclasses"): StorageClassStrategy(),
            ("", "namespaces"): NamespaceStrategy(),
            ("scheduling.k8s.io", "priorityclasses"): PriorityClassStrategy(self.store),
            (NATIVE_GROUPS.group, NATIVE_GROUPS.plural): NativeGroupStrategy(self.store),
            (CRD_GROUP, "customresourcedefinitions"): DefinitionStrategy(self.store, self.registry),
            **workload_strategies(),
            **{("rbac.authorization.k8s.io", plural): RoleStrategy() for plural in _RBAC},
        }

    def _strategy(self, resource: ServedResource) -> KindStrategy:
        if resource.is_custom:
            return self._custom
        return self._special.get((resource.group, resource.plural), self._plain)

    def _create_initial_objects(self) -> None:
        """Create the initial objects."""
        for name in INITIAL_NAMESPACES:
            self._create("", "namespaces", {"metadata": {"name": name}})
        for body in system_classes():
            self._create("scheduling.k8s.io", "priorityclasses", body)

    def _create(self, group: str, plural: str, body: Object) -> None:
        self.writes.create(self.registry.named(group, "v1", plural), "", body, WriteOptions())

    def delete(self, resource: ServedResource, entry: StoreEntry, options: DeleteOptions) -> tuple[StoreEntry, bool]:
        """Delete an object; return its current state and whether it is gone. Deleting a namespace or definition deletes
        its contents.
        """
        last, is_gone = self.deletion.delete(resource, entry, options)
        if is_gone or options.dry_run:
            return last, is_gone
        self._emptying.begin(resource, last)
        return last, False

    def compact(self) -> None:
        """Drop the history: older watches and continued lists must start over."""
        self.store.compact()
        self.lists.forget()
