"""What `kubectl get` shows of each kind, a module per family of kinds."""
