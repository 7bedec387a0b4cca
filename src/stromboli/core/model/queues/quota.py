"""Quotas: what the pods of a namespace may ask for together, as the API server counts it.

Names in a quota are not those of resources alone: `requests.cpu` means the same as `cpu`, `count/pods` much the same as
`pods`, and `limits.cpu` is something of its own. Here everything has one name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stromboli.core.model.resources.quantity import format_quantity, parse_quantity
from stromboli.core.model.resources.resources import counts_in_milli, is_bytes

LIMITS = "limits."

_REQUESTS = "requests."
_COUNTED_PODS = "count/pods"

#: By name, how much.
QuotaAmounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quota:
    """The most of each thing, and what is in use."""

    name: str
    hard: QuotaAmounts
    used: QuotaAmounts


def quota_name(name: str) -> str:
    """The one name of what a quota limits."""
    return "pods" if name == _COUNTED_PODS else name.removeprefix(_REQUESTS)


def quota_amounts(
    resources: Mapping[str, str | int | float] | None, of_two: Callable[[int, int], int] = max
) -> dict[str, int]:
    """Amounts by name; `of_two` decides where a thing is named twice. Raises ValueError with the name in front."""
    amounts: dict[str, int] = {}
    for given, text in (resources or {}).items():
        name = quota_name(given)
        try:
            amount = parse_quantity(text, milli=counts_in_milli(name.removeprefix(LIMITS)))
        except ValueError as error:
            raise ValueError(f"{given}: {error}") from None
        amounts[name] = of_two(amount, amounts.get(name, amount))
    return amounts


def in_words(amounts: QuotaAmounts) -> str:
    """As the API server tells it: `cpu=2,memory=4Gi`."""
    return ",".join(f"{name}={_formatted(name, amount)}" for name, amount in sorted(amounts.items()))


def _formatted(name: str, amount: int) -> str:
    resource = name.removeprefix(LIMITS)
    return format_quantity(amount, milli=counts_in_milli(resource), binary=is_bytes(resource))
