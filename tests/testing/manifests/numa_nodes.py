"""Builders of nodes with NUMA nodes, and of pods that request exclusive CPUs."""

from __future__ import annotations

from typing import Any

from tests.testing.manifests.builders import Manifest, gang_of, manifest, node, pod

POLICY = "volcano.sh/numa-topology-policy"
SINGLE, RESTRICTED, BEST = "single-numa-node", "restricted", "best-effort"


def topology(
    name: str,
    policy: str = SINGLE,
    *,
    sizes: str = "4 4",
    free: str | None = None,
    manager: str = "static",
    given: dict[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """The CPUs of a node, in NUMA nodes of these sizes, two CPUs per core. `given` are assigned to pods."""
    cells = [cell for cell, size in enumerate(sizes.split()) for _ in range(int(size))]
    return manifest(
        "Numatopology", name, "nodeinfo.volcano.sh/v1alpha1",
        spec={
            "policies": {"CPUManagerPolicy": manager, "TopologyManagerPolicy": policy},
            "numares": {"cpu": {"allocatable": f"0-{len(cells) - 1}" if free is None else free}},
            "cpuDetail": {str(n): {"numa": cell, "socket": cell, "core": n // 2} for n, cell in enumerate(cells)},
            "podAllocations": [
                {"uid": f"pod-default-{pod}", "containerAllocations": [{"name": "main", "allocations": {"cpu": cpus}}]}
                for pod, cpus in (given or {}).items()
            ],
            **spec,
        },
    )  # fmt: skip


def machine(name: str, policy: str = SINGLE, cpu: int = 8, **facts: Any) -> list[Manifest]:
    return [node(name, cpu), topology(name, policy, **facts)]


def container(cpu: object, name: str = "main", **facts: Any) -> Manifest:
    amounts = {"cpu": str(cpu), "memory": "1Gi"}
    return {"name": name, "resources": {"limits": amounts, "requests": amounts}, **facts}


def exact(cpu: object = 2, policy: str = "", *more: Manifest, **facts: Any) -> Manifest:
    """A guaranteed pod that names a policy, with further containers."""
    notes = {POLICY: policy} if policy else {}
    return pod(annotations=notes, containers=[container(cpu), *more], **facts)


def crew(count: int, cpu: object = 2, policy: str = SINGLE, **facts: Any) -> list[Manifest]:
    return gang_of(*(exact(cpu, policy) for _ in range(count)), **facts)
