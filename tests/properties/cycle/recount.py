"""Resources of pods on nodes, computed from the objects with fractions only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from stromboli import kube

SUFFIXES: dict[str, Fraction | int] = {"": 1, "m": Fraction(1, 1000), "k": 10**3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def amounts_of(resources: Mapping[str, Any] | None) -> Counter[str]:
    """Whole bytes and pods, thousandths of other resources."""
    found: Counter[str] = Counter()
    for name, text in (resources or {}).items():
        digits = str(text).rstrip("".join(SUFFIXES))
        exact = Fraction(digits) * SUFFIXES[str(text)[len(digits) :]]
        found[name] = math.ceil(exact if name in ("memory", "ephemeral-storage", "pods") else exact * 1000)
    return found


def request_of(pod: kube.Pod) -> Counter[str]:
    request = Counter({"pods": 1})
    for container in pod.spec.containers or ():
        request.update(amounts_of(container.resources.requests if container.resources else None))
    return request


def is_on_node(pod: kube.Pod) -> bool:
    """Report whether the pod uses resources of its node."""
    return bool(pod.spec.node_name) and pod.status.phase not in ("Succeeded", "Failed")


def used_by_node(pods: Iterable[kube.Pod], binds: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return the usage of every node once the pods in `binds` are there."""
    used: dict[str, Counter[str]] = {}
    for pod in pods:
        node = binds.get(pod.key) or (pod.spec.node_name if is_on_node(pod) else None)
        if node:
            used.setdefault(node, Counter()).update(request_of(pod))
    return used
