"""network-topology-aware: place the pods of a job close together in the network."""

from stromboli.core.plugins.network_topology_aware.plugin import NetworkTopologyAware

__all__ = ["NetworkTopologyAware"]
