"""nodegroup: queues run on the groups of nodes that they were given."""

from stromboli.core.plugins.nodegroup.plugin import NodeGroup

__all__ = ["NodeGroup"]
