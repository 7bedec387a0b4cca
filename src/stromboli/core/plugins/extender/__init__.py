"""extender: a service outside has a say, over HTTP."""

from stromboli.core.plugins.extender.plugin import Extender

__all__ = ["Extender"]
