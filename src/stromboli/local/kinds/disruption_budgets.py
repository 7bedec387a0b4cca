"""Rules of PodDisruptionBudgets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import one_of, wrong

_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    f"validation is '{_PERCENT.pattern}')"
)
_BOUNDS = ("minAvailable", "maxUnavailable")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


class BudgetStrategy(KindStrategy):
    """Exactly one bound, a number or a percentage. Updates require a resourceVersion."""

    unconditional_update = False

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        spec = body.get("spec") or {}
        if all(spec.get(bound) is not None for bound in _BOUNDS):
            yield wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set")
        for bound in _BOUNDS:
            if (value := spec.get(bound)) is not None:
                yield from _bound_causes(f"spec.{bound}", value)
        if policy := spec.get("unhealthyPodEvictionPolicy"):
            yield from one_of("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)


def _bound_causes(field: str, value: Any) -> Iterator[Cause]:
    if isinstance(value, int):
        if value < 0:
            yield wrong(field, value, "must be greater than or equal to 0")
    elif not _PERCENT.fullmatch(value):
        yield wrong(field, value, _PERCENT_RULE)
    elif int(value[:-1]) > 100:
        yield wrong(field, value, "must not be greater than 100%")
