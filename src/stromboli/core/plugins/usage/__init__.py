"""usage: pods go where little is really used, and not where too much is."""

from stromboli.core.plugins.usage.plugin import UsagePlugin

__all__ = ["UsagePlugin"]
