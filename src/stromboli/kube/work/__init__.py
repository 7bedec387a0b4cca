"""Work queues, retries and status writes."""
