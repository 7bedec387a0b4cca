"""capacity: queues get their deserved resources, borrow up to their capability, and return it on reclaim."""
