"""The labels by which everything that belongs to an installation is found."""

from __future__ import annotations

from stromboli import __version__

NAME = "stromboli"
"""The name of an installation; what it consists of is called after it."""


def selected(component: str) -> dict[str, str]:
    """What the pods of a component are selected by. Selectors cannot change, so nothing else belongs here."""
    return {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/instance": NAME,
        "app.kubernetes.io/component": component,
    }


def labels(component: str) -> dict[str, str]:
    """What objects of a component are marked with."""
    return {
        **selected(component),
        "app.kubernetes.io/part-of": NAME,
        "app.kubernetes.io/version": __version__,
    }
