"""numa-aware: containers with processors of their own get them close together, as the kubelets of nodes demand."""
