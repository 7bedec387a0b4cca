"""nodeorder: which of the possible nodes are better, by the scores of Kubernetes."""

from stromboli.core.plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
