"""Timestamps of Kubernetes objects."""

from stromboli.kube.objects import timestamps


def seconds_of(timestamp: str | None) -> float:
    """Seconds since the epoch; 0 for a missing or invalid timestamp."""
    return timestamps.seconds_of(timestamp) or 0.0
