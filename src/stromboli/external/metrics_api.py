"""Node usage through the API server: metrics-server, and the Prometheus adaptor."""

from __future__ import annotations

import msgspec

from stromboli.cluster.objects.node_metrics import usage_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.nodes.usage import Usage
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.external.figures import Figure, SourceProblem, joined
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import NODE_METRICS

CPU, MEMORY = "node_cpu_usage_avg", "node_memory_usage_avg"
_OF_ALL_NODES = "/apis/custom.metrics.k8s.io/v1beta1/nodes/*/"


class MetricsServer:
    """The kubelets' own figures, over the last seconds."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self) -> dict[str, Usage]:
        listing = await self._client.list(NODE_METRICS, limit=0)
        figures = {}
        for metrics in listing.items:
            try:
                figures[metrics.metadata.name] = usage_of(metrics)
            except ValueError:
                continue  # a node that has just joined has no figure yet
        return figures

    async def close(self) -> None:
        """Do nothing: the client belongs to the scheduler."""


class _Described(msgspec.Struct):
    name: str = ""


class _Value(msgspec.Struct, rename="camel"):
    described_object: _Described = msgspec.field(default_factory=_Described)
    timestamp: str = ""
    value: str = ""


class _Values(msgspec.Struct):
    items: list[_Value] = []


_VALUES = msgspec.json.Decoder(_Values)


class Adaptor:
    """Averages from the adaptor's rules, under the names that Volcano uses."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self) -> dict[str, Usage]:
        return joined(await self._ask(CPU), await self._ask(MEMORY))

    async def close(self) -> None:
        """Do nothing: the client belongs to the scheduler."""

    async def _ask(self, metric: str) -> dict[str, Figure]:
        body = await self._client.request("GET", f"{_OF_ALL_NODES}{metric}")
        try:
            values = _VALUES.decode(body).items
            return {
                each.described_object.name: Figure(
                    parse_quantity(each.value, milli=True) / 1000.0, seconds_of(each.timestamp)
                )
                for each in values
            }
        except (msgspec.DecodeError, ValueError) as error:
            raise SourceProblem(f"unreadable response for {metric}: {error}") from None
