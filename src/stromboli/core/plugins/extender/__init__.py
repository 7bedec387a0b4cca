"""extender: delegate decisions to an external HTTP service."""

from stromboli.core.plugins.extender.plugin import Extender

__all__ = ["Extender"]
