"""Quotas: what the pods of a namespace may request together, as the API server counts it.

A quota has several names for one resource: `requests.cpu` is `cpu`, `count/pods` is nearly `pods`, and `limits.cpu` is
separate. Here every resource has one name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stromboli.core.model.resources.quantity import format_quantity, parse_quantity
from stromboli.core.model.resources.resources import counts_in_milli, is_bytes

LIMITS = "limits."

_REQUESTS = "requests."
_COUNTED_PODS = "count/pods"

#: Amount by name.
QuotaAmounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quota:
    """The hard limits, and what is in use."""

    name: str
    hard: QuotaAmounts
    used: QuotaAmounts


def quota_name(name: str) -> str:
    """Return the canonical name of a limited resource."""
    return "pods" if name == _COUNTED_PODS else name.removeprefix(_REQUESTS)


def quota_amounts(
    resources: Mapping[str, str | int | float] | None, of_two: Callable[[int, int], int] = max
) -> dict[str, int]:
    """Parse amounts by name; `of_two` combines duplicates. Raises ValueError that starts with the name."""
    amounts: dict[str, int] = {}
    for key, text in (resources or {}).items():
        name = quota_name(key)
        try:
            amount = parse_quantity(text, milli=counts_in_milli(name.removeprefix(LIMITS)))
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
        amounts[name] = of_two(amount, amounts.get(name, amount))
    return amounts


def format_amounts(amounts: QuotaAmounts) -> str:
    """Format amounts as the API server does: `cpu=2,memory=4Gi`."""
    return ",".join(f"{name}={format_amount(name, amount)}" for name, amount in sorted(amounts.items()))


def format_amount(name: str, amount: int) -> str:
    resource = name.removeprefix(LIMITS)
    return format_quantity(amount, milli=counts_in_milli(resource), binary=is_bytes(resource))
