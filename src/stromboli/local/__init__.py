"""A local cluster: an API server in memory, fake kubelets and controllers."""
