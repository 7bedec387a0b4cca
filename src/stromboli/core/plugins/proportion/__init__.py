"""proportion: queues share the cluster by their weights, and nobody gets more than it asks for."""

from stromboli.core.plugins.proportion.plugin import Proportion

__all__ = ["Proportion"]
