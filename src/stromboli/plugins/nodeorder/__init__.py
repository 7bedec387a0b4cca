"""nodeorder: which of the possible nodes are better, by the scores of Kubernetes."""

from stromboli.plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
