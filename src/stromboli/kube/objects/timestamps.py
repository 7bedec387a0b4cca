"""Wall-clock timestamps of API objects. Decisions do not depend on them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

#: The time from the start of a simulation to the arrival of an object.
ARRIVES_AFTER = "scheduling.stromboli.dev/arrives-after"
#: The expected run time of a pod, which the scheduler may use.
RUN_TIME = "scheduling.stromboli.dev/run-time"
#: The time between checkpoints of a pod, from its start, and when it wrote the last one.
CHECKPOINT_INTERVAL = "scheduling.stromboli.dev/checkpoint-interval"
LAST_CHECKPOINT = "scheduling.stromboli.dev/last-checkpoint"
#: The actual run time of a pod without containers that run: for fake kubelets and simulations.
RUN_SECONDS = "stromboli.dev/run-seconds"


def now() -> str:
    """The current time to the microsecond, as in Leases and Events."""
    return f"{datetime.now(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def stamp(seconds: float) -> str:
    """Seconds since the epoch as a timestamp in whole seconds."""
    return _stamp(int(seconds))


@lru_cache(maxsize=128)
def _stamp(second: int) -> str:
    """Cached: thousands of objects are written within one second."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str | None) -> float | None:
    """Parse a timestamp; None if absent or invalid."""
    return _seconds_of(text) if text else None


@lru_cache(maxsize=1024)
def _seconds_of(text: str) -> float | None:
    """Cached: many objects are created within one second."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
