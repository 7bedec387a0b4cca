"""network-topology-aware: place the pods of a job close together in the network."""
