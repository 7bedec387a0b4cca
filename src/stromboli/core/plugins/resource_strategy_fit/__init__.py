"""resource-strategy-fit: pack some resources and spread others, and keep what is scarce for those who need it."""

from stromboli.core.plugins.resource_strategy_fit.plugin import ResourceStrategyFit

__all__ = ["ResourceStrategyFit"]
