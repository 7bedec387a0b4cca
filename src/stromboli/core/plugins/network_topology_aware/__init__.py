"""network-topology-aware: jobs whose pods talk a lot sit close together in the network."""

from stromboli.core.plugins.network_topology_aware.plugin import NetworkTopologyAware

__all__ = ["NetworkTopologyAware"]
