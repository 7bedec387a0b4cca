"""capacity: every queue has what it deserves, may borrow up to its capability, and gives back when others ask."""

from stromboli.core.plugins.capacity.plugin import Capacity

__all__ = ["Capacity"]
