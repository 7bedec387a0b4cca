"""HyperNodes and topologies."""
