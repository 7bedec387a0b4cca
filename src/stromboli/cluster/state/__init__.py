"""The live state of the cluster, updated by events."""
