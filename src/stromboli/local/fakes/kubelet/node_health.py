"""Health of simulated nodes: conditions, taints and evictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stromboli.kube.objects.cluster import KubeNode, KubeTaint
from stromboli.kube.objects.constraints import KubeToleration
from stromboli.local.fakes.kubelet.simulated_nodes import health, is_simulated

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_OUR_TAINTS = {NOT_READY, UNREACHABLE, UNSCHEDULABLE}
_TAINT_OF = {"False": NOT_READY, "Unknown": UNREACHABLE}


def wanted_taints(node: KubeNode, moment: str) -> list[KubeTaint] | None:
    """The taints by health and cordon of the node; None if they are set already."""
    wanted: list[tuple[str, str]] = []
    if (key := _TAINT_OF.get(health(node))) is not None:
        wanted += [(key, "NoSchedule"), (key, "NoExecute")]
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    present = node.spec.taints or []
    if {(taint.key, taint.effect) for taint in present if taint.key in _OUR_TAINTS} == set(wanted):
        return None
    others = [taint for taint in present if taint.key not in _OUR_TAINTS]
    return others + [KubeTaint(key=key, effect=effect, time_added=moment) for key, effect in wanted]


def conditions(node: KubeNode, moment: str) -> list[dict[str, Any]]:
    """The conditions that a kubelet reports, or that are set for an unresponsive one."""
    status = health(node)
    reason, message = _READINESS[status]
    conditions_now: list[dict[str, Any]] = [{"type": "Ready", "status": status, "reason": reason, "message": message}]
    for kind, well, state in _PRESSURES:
        silent = {"status": "Unknown", "reason": reason, "message": message}
        fine = {"status": "False", "reason": f"KubeletHas{well}", "message": f"kubelet has {state}"}
        conditions_now.append({"type": kind, **(silent if status == "Unknown" else fine)})
    return [_timed(condition, node, moment) for condition in conditions_now]


def _timed(condition: dict[str, Any], node: KubeNode, moment: str) -> dict[str, Any]:
    """An unchanged condition keeps its transition time."""
    before = next((old for old in node.status.conditions or () if old.type == condition["type"]), None)
    since = before.last_transition_time if before is not None and before.status == condition["status"] else None
    return condition | {"lastHeartbeatTime": moment, "lastTransitionTime": since or moment}


#: Default toleration of every pod in seconds.
_DEFAULT_TOLERATION_SECONDS = 300


def toleration_seconds(tolerations: Sequence[KubeToleration], taint: str, eviction_delay: float) -> float | None:
    """Seconds that a pod may stay on a tainted node; None for no limit.

    The default of five minutes is too long for a simulated cluster.
    """
    tolerated = [toleration for toleration in tolerations if _tolerates(toleration, taint)]
    if not tolerated:
        return eviction_delay
    times = [toleration.toleration_seconds for toleration in tolerated if toleration.toleration_seconds is not None]
    return (
        max(0.0, min(eviction_delay if time == _DEFAULT_TOLERATION_SECONDS else time for time in times))
        if times
        else None
    )


_READINESS = {
    "True": ("KubeletReady", "kubelet is posting ready status"),
    "False": ("KubeletNotReady", "the node was made not ready"),
    "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
}
_PRESSURES = (
    ("MemoryPressure", "SufficientMemory", "sufficient memory available"),
    ("DiskPressure", "NoDiskPressure", "no disk pressure"),
    ("PIDPressure", "SufficientPID", "sufficient PID available"),
)


def _tolerates(toleration: KubeToleration, taint: str) -> bool:
    if toleration.effect not in (None, "", "NoExecute"):
        return False
    if not toleration.key:
        return toleration.operator == "Exists"
    return toleration.key == taint and (toleration.operator == "Exists" or not toleration.value)


def facts(node: KubeNode) -> tuple[object, ...]:
    """All inputs of the node's health; heartbeats are not among them."""
    ready = next((entry.status for entry in node.status.conditions or () if entry.type == "Ready"), None)
    return health(node), node.spec.unschedulable, node.spec.taints, ready, is_simulated(node)


def evicting_taint(node: KubeNode) -> str | None:
    """The taint that evicts pods."""
    lost = (taint.key for taint in node.spec.taints or () if taint.effect == "NoExecute")
    return next((key for key in lost if key in (NOT_READY, UNREACHABLE)), None)


def reports_conditions(node: KubeNode) -> bool:
    wanted = health(node)
    return any(entry.type == "Ready" and entry.status == wanted for entry in node.status.conditions or ())
