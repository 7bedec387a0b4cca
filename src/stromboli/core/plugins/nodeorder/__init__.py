"""nodeorder: which of the possible nodes are better, by the scores of Kubernetes."""
