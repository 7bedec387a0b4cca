"""API servers for tests and benchmarks: the local one in a process of its own, and a real one with etcd."""
