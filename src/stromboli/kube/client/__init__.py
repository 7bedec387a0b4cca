"""The client of the Kubernetes API: configuration, transport, typed requests and their errors."""
