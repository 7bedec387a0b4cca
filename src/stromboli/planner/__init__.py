"""What would the scheduler do with these objects? The same core as in a cluster, over manifests, without one."""
