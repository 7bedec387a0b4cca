"""predicates: which nodes may take a pod at all, by the rules of Kubernetes."""

from stromboli.core.plugins.predicates.plugin import Predicates

__all__ = ["Predicates"]
