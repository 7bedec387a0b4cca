"""The live mirror of the cluster: Kubernetes objects in, snapshots of the model out."""
