"""gpusharing: fractional GPUs, requested by pod annotation."""

from stromboli.core.plugins.gpusharing.plugin import GpuSharing

__all__ = ["GpuSharing"]
