"""Commands that show and change the jobs, queues and nodes of a cluster."""
