"""numa-aware: containers with processors of their own get them close together, as the kubelets of nodes demand."""

from stromboli.core.plugins.numa_aware.plugin import NumaAware

__all__ = ["NumaAware"]
