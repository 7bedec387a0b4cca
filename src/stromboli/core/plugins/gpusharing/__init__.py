"""gpusharing: pods that share GPUs by annotation, a part of a device each."""

from stromboli.core.plugins.gpusharing.plugin import GpuSharing

__all__ = ["GpuSharing"]
