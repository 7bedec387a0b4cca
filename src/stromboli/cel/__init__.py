"""CEL expressions with Kubernetes' extensions, and a cost limit."""
