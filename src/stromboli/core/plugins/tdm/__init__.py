"""tdm: nodes that are lent out for some hours of the day, and the work that may run on them."""

from stromboli.core.plugins.tdm.plugin import Tdm

__all__ = ["Tdm"]
