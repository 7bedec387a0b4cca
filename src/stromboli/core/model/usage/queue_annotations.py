"""Annotations of queues about past usage and users: half-lives, weights of users and their limits.

Each function returns what is valid, and a message for each part that is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import counts_in_milli
from stromboli.core.model.values.times import duration_or_nothing

#: Of the root queue, or of a queue below it with all its descendants: `72h`.
HALF_LIFE = "scheduling.stromboli.dev/half-life"
#: The weights of users: `ana=3,ben=1`; others have 1.
USER_WEIGHTS = "scheduling.stromboli.dev/user-weights"
#: Limits of users: `ana: cpu=8, nvidia.com/gpu=4; *: nvidia.com/gpu=2; @vision: nvidia.com/gpu=8`.
USER_LIMITS = "scheduling.stromboli.dev/user-limits"
_MAX_SHOWN = 64
_MAX_WEIGHT = 1e6

Weights = dict[str, float]
#: By name of a user or a group, amounts by resource name in the units of the resource axis.
Limits = dict[str, dict[str, int]]


def half_life_in(text: str) -> tuple[float | None, Sequence[str]]:
    """Return the half-life in seconds, 0 for no decay; None without a valid one."""
    if not text:
        return None, ()
    try:
        return duration_or_nothing(text), ()
    except ValueError as error:
        return None, (str(error),)


def user_weights_in(text: str) -> tuple[Weights, Sequence[str]]:
    weights, problems = Weights(), list[str]()
    for part in filter(None, map(str.strip, text.split(","))):
        user, _, amount = (each.strip() for each in part.rpartition("="))
        weight = _weight(amount)
        if user and weight is not None:
            weights[user] = weight
        else:
            problems.append(f"expected user=weight with a weight of at least 0, got {part[:_MAX_SHOWN]!r}")
    return weights, problems


def _weight(text: str) -> float | None:
    """Return a weight; None for an invalid one."""
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if 0 <= weight < _MAX_WEIGHT else None


def user_limits_in(text: str) -> tuple[Limits, Sequence[str]]:
    """Names of users may contain colons, as those of service accounts do."""
    limits, problems = Limits(), list[str]()
    for part in filter(None, map(str.strip, text.split(";"))):
        name, amounts = (each.strip() for each in part.rsplit(":", 1)) if ":" in part else (part, "")
        try:
            if not name:
                raise ValueError("expected user: resource=amount")
            limits[name] = _amounts(amounts)
        except ValueError as error:
            problems.append(f"{name[:_MAX_SHOWN]}: {error}")
    return limits, problems


def _amounts(text: str) -> dict[str, int]:
    """Parse `cpu=8, nvidia.com/gpu=4`. Raises ValueError."""
    amounts = dict[str, int]()
    for part in text.split(","):
        name, separator, amount = (each.strip() for each in part.partition("="))
        if not separator or not name:
            raise ValueError(f"expected resource=amount, got {part.strip()[:_MAX_SHOWN]!r}")
        amounts[name] = parse_quantity(amount, milli=counts_in_milli(name))
    return amounts


def annotation_problems(annotations: Mapping[str, str], is_top: bool) -> Sequence[tuple[str, str]]:
    """Return what is wrong with these annotations of a queue, as pairs of key and message. `is_top` if the queue is the
    root, or directly below it.
    """
    return [
        *((HALF_LIFE, problem) for problem in half_life_problems(annotations, is_top=is_top)),
        *((USER_WEIGHTS, problem) for problem in user_weights_in(annotations.get(USER_WEIGHTS, ""))[1]),
        *((USER_LIMITS, problem) for problem in user_limits_in(annotations.get(USER_LIMITS, ""))[1]),
    ]


def half_life_problems(annotations: Mapping[str, str], *, is_top: bool) -> Sequence[str]:
    """Return why the half-life of a queue, if it has one, has no effect."""
    if not is_top and HALF_LIFE in annotations:
        return ("the half-life of a tree of queues is that of its top queue, or of the root queue",)
    return half_life_in(annotations.get(HALF_LIFE, ""))[1]
