"""A local cluster: an API server in memory with the Kubernetes REST conventions over HTTPS, fake kubelets and
controllers.
"""
