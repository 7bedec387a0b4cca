"""Changes that commands make to the jobs and queues of a cluster."""
