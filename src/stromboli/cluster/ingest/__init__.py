"""Watch events and own writes on their way into the cluster state."""
