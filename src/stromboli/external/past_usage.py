"""Past usage from Prometheus: amounts that queues and users held over time, as series of range queries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from stromboli.core.model.resources.resources import counts_in_milli
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.external.figures import SourceProblem
from stromboli.external.prometheus_api import PrometheusSeries, Sample, number_of, query_range, series_in_range
from stromboli.kube.client.transport import Transport

#: Prometheus answers at most 11,000 samples of a series.
_MAX_SAMPLES = 10_000
_MIN_STEP = 15.0
#: More than any cluster has of a resource, and few enough to be added up.
_MAX_AMOUNT = 2.0**62
#: Labels that name the queue, the first one counts.
_QUEUES = ("queue", "queue_name")


class PrometheusPastUsage:
    """`queries` have the amounts by resource: processors, bytes or devices, with the label `queue`, and with the labels
    `user` and `namespace` if usage counts by them. `period` is how far back they are asked for, in seconds.
    """

    def __init__(self, transport: Transport, queries: Mapping[str, str], period: float) -> None:
        self._transport = transport
        self._queries = queries
        self._period = period
        self._step = step_of(period)

    async def read(self, now: float) -> UsageLedger:
        """Return the usage until now. What is held at last counts on. Raises RequestFailed or SourceProblem."""
        ledger = UsageLedger()
        for resource, query in self._queries.items():
            body = await query_range(self._transport, query, now - self._period, now, self._step)
            # A month of many queues takes seconds, for which the loop must not stand still.
            await asyncio.to_thread(self._enter_all, ledger, resource, body, now)
        return ledger

    async def close(self) -> None:
        await self._transport.close()

    def _enter_all(self, ledger: UsageLedger, resource: str, body: bytes, now: float) -> None:
        for series in series_in_range(body):
            self._enter(ledger, resource, series, now)

    def _enter(self, ledger: UsageLedger, resource: str, series: PrometheusSeries, now: float) -> None:
        labels = series.metric
        queue = next((labels[label] for label in _QUEUES if labels.get(label)), "")
        if not queue:
            raise SourceProblem(f"a series of {resource} has no label queue; sum by (queue) or by (queue, user)")
        unit, numbers = 1000 if counts_in_milli(resource) else 1, dict[int, int]()
        for start, end, amount in self._intervals(series.values, unit):
            number = numbers.get(amount)
            if number is None:
                requests = ((resource, amount),)
                account = Account(queue, labels.get("namespace", ""), labels.get("user", ""), requests)
                number = numbers[amount] = ledger.account(account)
            ledger.started(number, start)
            if end < now:
                ledger.ended(number, end)

    def _intervals(self, samples: Sequence[Sample], unit: int) -> Iterator[tuple[float, float, int]]:
        """Yield when which amount was held. A sample counts until the next one, for one step at most."""
        began, until, held = 0.0, 0.0, 0
        for moment, text in samples:
            amount = _amount(text, unit)
            if amount != held or moment > until:
                if held:
                    yield began, min(until, moment), held
                began, held = moment, amount
            until = moment + self._step * 1.001
        if held:
            yield began, until, held


def _amount(text: str, unit: int) -> int:
    """Return an amount in the units of the resource axis; 0 for none."""
    value = number_of(text)
    return round(min(max(value, 0.0) * unit, _MAX_AMOUNT)) if isfinite(value) else 0


def step_of(period: float) -> float:
    """Return the distance of samples in a period, in seconds."""
    return max(round(period / _MAX_SAMPLES), _MIN_STEP)
