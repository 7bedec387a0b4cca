"""A cluster at a glance: jobs, queues and nodes as rows, the order of a queue, and the scores of nodes."""
