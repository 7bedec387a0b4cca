"""rescheduling: pods leave nodes that are busy while others have little to do."""

from stromboli.core.plugins.rescheduling.plugin import Rescheduling

__all__ = ["Rescheduling"]
