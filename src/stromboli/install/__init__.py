"""How Stromboli gets into a cluster: what its processes may do there, and the objects they consist of."""
