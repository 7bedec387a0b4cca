"""Node metrics as manifests."""

from __future__ import annotations

from typing import Any

from tests.testing.manifests.builders import Manifest, manifest, namespace

NOON = "2026-03-01T12:00:00Z"


def measured(name: str, cpu: object, memory: object = "0", *, at: str = NOON) -> Manifest:
    """The measured usage of a node."""
    usage = {"cpu": cpu, "memory": memory}
    return manifest("NodeMetrics", name, "metrics.k8s.io/v1beta1", timestamp=at, window="30s", usage=usage)


def clock(time: str = NOON) -> Any:
    """The latest object of a cluster defines the current time."""
    metadata = {"name": "clock", "uid": "clock", "creationTimestamp": time}
    return {**namespace("clock"), "metadata": metadata}
