"""Controllers: PodGroups for plain pods, the default queues, statuses of queues and HyperNodes, discovery."""
