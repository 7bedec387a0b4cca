"""predicates: which nodes may take a pod at all, by the rules of Kubernetes."""
