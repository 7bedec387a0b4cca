"""resource-strategy-fit: pack some resources and spread others, and reserve scarce ones for pods that need them."""

from stromboli.core.plugins.resource_strategy_fit.plugin import ResourceStrategyFit

__all__ = ["ResourceStrategyFit"]
