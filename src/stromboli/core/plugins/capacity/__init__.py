"""capacity: each queue gets its deserved resources, borrows up to its capability, and returns what it borrowed on
reclaim.
"""

from stromboli.core.plugins.capacity.plugin import Capacity

__all__ = ["Capacity"]
