"""predicates: which nodes may take a pod at all, by the rules of Kubernetes."""

from stromboli.plugins.predicates.plugin import Predicates

__all__ = ["Predicates"]
