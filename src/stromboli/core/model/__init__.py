"""The domain: exact resources, nodes in columns, tasks and their classes, jobs, queues, and the one ledger."""
