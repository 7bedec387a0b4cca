"""nodegroup: queues run on their groups of nodes."""

from stromboli.core.plugins.nodegroup.plugin import NodeGroup

__all__ = ["NodeGroup"]
