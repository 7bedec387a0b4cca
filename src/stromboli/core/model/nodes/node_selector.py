"""The labels of the nodes that are scheduled on, as texts `KEY:VALUE`."""

from collections.abc import Sequence


def read_node_selector(pairs: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return allowed values by key: values of the same key are alternatives. Raises ValueError."""
    chosen: dict[str, set[str]] = {}
    for pair in pairs:
        key, separator, value = pair.partition(":")
        if not separator or not key:
            raise ValueError(f"{pair!r} is not of the form KEY:VALUE")
        chosen.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in chosen.items()}
