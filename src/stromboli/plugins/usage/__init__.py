"""usage: pods go where little is really used, and not where too much is."""

from stromboli.plugins.usage.plugin import UsagePlugin

__all__ = ["UsagePlugin"]
