"""numa-aware: exclusive CPUs of a container come from few NUMA nodes, as the policy of the kubelet requires."""
