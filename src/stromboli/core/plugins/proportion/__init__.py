"""proportion: queues share the cluster by weight, and no queue gets more than it requests."""

from stromboli.core.plugins.proportion.plugin import Proportion

__all__ = ["Proportion"]
