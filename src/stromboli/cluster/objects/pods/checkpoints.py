"""The declared checkpoints of a pod, from the last of which its job starts again after an eviction."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.cluster.objects.pods.declared_durations import declared_duration, duration_warning
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.timestamps import CHECKPOINT_INTERVAL, LAST_CHECKPOINT


def checkpoint_interval_of(annotations: Mapping[str, str]) -> float:
    """Seconds; infinite if no valid interval is declared."""
    return declared_duration(annotations, CHECKPOINT_INTERVAL)


def last_checkpoint_of(annotations: Mapping[str, str]) -> float:
    """Seconds since the epoch; 0 if no valid moment is declared."""
    return timestamps.seconds_of(annotations.get(LAST_CHECKPOINT)) or 0.0


def checkpoint_warning(annotations: Mapping[str, str]) -> str:
    """Return why an annotation is invalid; empty if both are valid."""
    last = annotations.get(LAST_CHECKPOINT)
    if last is not None and timestamps.seconds_of(last) is None:
        form = "is not a time; write one such as 2026-01-31T12:00:00Z"
        return f"metadata.annotations[{LAST_CHECKPOINT}]: {last[:64]!r} {form}; annotation ignored"
    return duration_warning(annotations, CHECKPOINT_INTERVAL)
