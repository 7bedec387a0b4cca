"""Sharding: the nodes that this shard may use, the liveness of other shards, and the takeover of their nodes."""
