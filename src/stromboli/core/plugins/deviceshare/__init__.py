"""deviceshare: which devices of a node a pod gets, and how much of each."""

from stromboli.core.plugins.deviceshare.plugin import DeviceShare

__all__ = ["DeviceShare"]
