"""Labels of all objects of an installation."""

from __future__ import annotations

from stromboli import __version__

NAME = "stromboli"
"""The name of an installation, and prefix of its objects."""


def selected(component: str) -> dict[str, str]:
    """The pod selector of a component. Selectors are immutable, so nothing else belongs here."""
    return {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/instance": NAME,
        "app.kubernetes.io/component": component,
    }


def labels(component: str) -> dict[str, str]:
    """Labels of a component's objects."""
    return {
        **selected(component),
        "app.kubernetes.io/part-of": NAME,
        "app.kubernetes.io/version": __version__,
    }
