"""Metrics as a Prometheus server reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from stromboli.observability.endpoints import MetricsRenderer


class ExposedSample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def exposed_types(text: str) -> dict[str, str]:
    """Return the types of all metrics, by the names in the text."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))


def exposed_samples(text: str) -> Iterator[ExposedSample]:
    """Return all samples. The parser adds `_total` to the names of counters that lack it; this removes it."""
    types = exposed_types(text)
    for family in text_string_to_metric_families(text):
        is_plain_counter = types.get(family.name) == "counter"
        for sample in family.samples:
            yield ExposedSample(family.name if is_plain_counter else sample.name, sample.labels, sample.value)


def exposed_values(metrics: MetricsRenderer, name: str = "") -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return all values by name and labels; only lines that contain the name are parsed."""
    lines = metrics.render()[0].decode().splitlines(keepends=True)
    samples = exposed_samples("".join(line for line in lines if name in line))
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


def exposed_value(metrics: MetricsRenderer, name: str, **labels: str) -> float | None:
    return exposed_values(metrics, name).get((name, tuple(sorted(labels.items()))))
