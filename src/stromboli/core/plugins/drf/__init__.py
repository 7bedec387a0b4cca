"""drf: dominant resource fairness between jobs, and between queues in a tree when hierarchy is on."""

from stromboli.core.plugins.drf.plugin import Drf

__all__ = ["Drf"]
