"""What the console keeps in memory: the objects of the cluster, frames of one moment, and figures over time."""
