"""Node usage from Prometheus, as its node exporter measures it: three queries over all nodes."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.core.model.nodes.usage import Usage
from stromboli.external.figures import Figure, SourceProblem, joined
from stromboli.external.prometheus_api import number_of, query_now
from stromboli.kube.client.transport import Transport

#: Labels that may contain the name of a node, the most reliable first; `instance` only if it was relabelled.
_NAMES = ("node", "kubernetes_node", "nodename", "instance")
_BY = f"by ({', '.join(_NAMES)})"

CPU = f'1 - avg {_BY} (rate(node_cpu_seconds_total{{mode="idle"}}[WINDOW]))'
MEMORY = (
    f"1 - avg {_BY} (avg_over_time(node_memory_MemAvailable_bytes[WINDOW]))"
    f" / avg {_BY} (avg_over_time(node_memory_MemTotal_bytes[WINDOW]))"
)
#: The time of a node's last sample: averages are current even if the node sent nothing for minutes.
LAST_SEEN = f"max {_BY} (timestamp(node_memory_MemTotal_bytes))"


class Prometheus:
    def __init__(self, transport: Transport, window: float) -> None:
        self._transport = transport
        #: The averaging window in seconds.
        self._window = max(round(window), 1)

    async def read(self) -> dict[str, Usage]:
        seen = await self._ask(LAST_SEEN)
        cpu, memory = await self._ask(CPU), await self._ask(MEMORY)
        return joined(_with_last_sample(cpu, seen), _with_last_sample(memory, seen))

    async def close(self) -> None:
        await self._transport.close()

    async def _ask(self, question: str) -> dict[str, Figure]:
        query = question.replace("WINDOW", f"{self._window}s")
        figures = {}
        for series in await query_now(self._transport, query):
            if series.value is None:
                raise SourceProblem("unreadable response from Prometheus: a sample has no value")
            moment, text = series.value
            figures[_name(series.metric)] = Figure(number_of(text), moment)
        return figures


def _with_last_sample(figures: Mapping[str, Figure], seen: Mapping[str, Figure]) -> dict[str, Figure]:
    """Add the time of the last sample to the figures; nodes without it are left out, because their age is unknown."""
    return {name: Figure(figure.part, seen[name].part) for name, figure in figures.items() if name in seen}


def _name(labels: Mapping[str, str]) -> str:
    """The node of a sample; of an address, the host."""
    found = next((labels[label] for label in _NAMES if labels.get(label)), "")
    host, separator, port = found.rpartition(":")
    return host if separator and port.isdecimal() else found
