"""Annotations and labels of Stromboli, Volcano and KAI, to find misspelt ones."""

from __future__ import annotations

from functools import lru_cache

from stromboli.kube.fields.nearest import nearest

_NAMES = {
    "scheduling.k8s.io": "group-name",
    "scheduling.volcano.sh": "group-min-member group-name queue-allocation-gate queue-name",
    "volcano.sh": "bind-phase bind-time closed-by-parent cooldown-time createdByJobFlow createdByJobTemplate "
    "cronjob-scheduled-timestamp "
    "devices-to-allocate gpu-index gpu-memory gpu-number gpu-unhealthy-ids hierarchy hierarchy-weights "
    "jdb-max-unavailable jdb-min-available job-name job-namespace job-retry-count job-version mutex.lock "
    "namespace.weight network-topology-highest-tier network-topology-highest-tier-allowed network-topology-mode "
    "node-vgpu-handshake node-vgpu-register nodegroup-name nodegroup-resource-limits numa-topology-policy "
    "offline-job-evicting oversubscription "
    "oversubscription-cpu oversubscription-memory partition-id predicate-time preemptable qos-level queue-name "
    "resource-strategy-scoring-type resource-strategy-weight revocable-zone sla-waiting-time task-index "
    "task-priority task-spec task-topology-affinity task-topology-anti-affinity task-topology-task-order template-uid "
    "topology-decision vgpu-cores vgpu-ids-new vgpu-memory vgpu-memory-percentage vgpu-mode vgpu-node "
    "vgpu-nouse-gpuuuid vgpu-number vgpu-podgroup-policy vgpu-time vgpu-use-gpuuuid",
    "kai.scheduler": "queue node-pool segment-size segment-topology-preferred-placement "
    "segment-topology-required-placement subgroup-name topology topology-preferred-placement "
    "topology-required-placement",
    "run.ai": "reserve_for_gpu_index",
    "scheduling.stromboli.dev": "allocated-hypernode arrives-after checkpoint-interval discovered-by half-life "
    "last-checkpoint "
    "over-quota-weight pod-group pod-name preempt-min-runtime priority-classes received-resource-type "
    "reclaim-min-runtime run-time scheduler selected-node set-aside staleness-grace-period sub-group-hypernodes "
    "user-limits user-weights",
    "stromboli.dev": "bind-request block budgets commit decided-at exit-code gpu-config-map gpu-device gpu-groups "
    "gpu-portion-milli limits node-lock processors queue rack ready run-seconds scheduler-names simulated "
    "start-seconds stop-seconds suspended termination-message user wanted-processors",
}
KNOWN = frozenset(f"{prefix}/{name}" for prefix, names in _NAMES.items() for name in names.split())
_SIMILAR_KEY = 0.9


@lru_cache(maxsize=1024)
def meant_annotation(key: str) -> str | None:
    """Return the annotation or label that was probably meant; None if the key is known or of another project."""
    prefix, _, name = key.partition("/")
    if key in KNOWN or not name or nearest(prefix, _NAMES, _SIMILAR_KEY) is None:
        return None
    return nearest(key, KNOWN, _SIMILAR_KEY)
