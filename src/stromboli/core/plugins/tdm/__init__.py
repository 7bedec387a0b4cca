"""tdm: revocable nodes that take batch pods during certain hours of the day."""

from stromboli.core.plugins.tdm.plugin import Tdm

__all__ = ["Tdm"]
