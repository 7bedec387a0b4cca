"""Expected starts of waiting jobs, from the last forecast."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from stromboli.observability.metrics.series import Labels, PrunedGauge


class ForecastMetrics:
    def __init__(self, registry: CollectorRegistry, max_series: int) -> None:
        self._made = Counter("stromboli_forecasts", "Forecasts of starts, by result.", ("result",), registry=registry)
        self._seconds = Gauge(
            "stromboli_forecast_seconds", "Time of the last forecast, beside the scheduler.", registry=registry
        )
        self._jobs = Gauge(
            "stromboli_expected_start_jobs", "Waiting jobs by what is known of their latest start.", ("latest",),
            registry=registry,
        )  # fmt: skip
        longest = Gauge(
            "stromboli_longest_expected_wait_seconds", "The longest time until the latest start of a job, if known.",
            ("queue",), registry=registry,
        )  # fmt: skip
        self._longest = PrunedGauge(longest, max_series)
        for result in ("done", "failed"):
            self._made.labels(result)
        for latest in ("known", "unknown"):
            self._jobs.labels(latest).set(0)

    def made(self, result: str, seconds: float) -> None:
        """Record a forecast that is `done` or `failed`."""
        self._made.labels(result).inc()
        self._seconds.set(seconds)

    def update(self, starts: Iterable[tuple[str, float | None]], now: float) -> None:
        """Expose the latest starts of waiting jobs, each with its queue."""
        counts, longest = {"known": 0, "unknown": 0}, dict[Labels, float]()
        for queue, latest in starts:
            counts["unknown" if latest is None else "known"] += 1
            if latest is not None:
                longest[queue,] = max(longest.get((queue,), 0.0), latest - now)
        for name, count in counts.items():
            self._jobs.labels(name).set(count)
        self._longest.update(longest)
